package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	out := flag.String("o", "", "folder to write, which must be empty or missing")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	n, err := build(*root, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages\n", n)
}

// build writes the site of a repository and returns how many pages it has.
func build(root, out string) (int, error) {
	s, err := read(root)
	if err != nil {
		return 0, err
	}
	if err := s.link(); err != nil {
		return 0, err
	}
	return len(s.pages), s.write(out)
}
