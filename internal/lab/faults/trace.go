package faults

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
)

// OpKind is what a system call does to a file.
type OpKind uint8

// The kinds of operations.
const (
	OpWrite    OpKind = iota + 1 // Data at Offset
	OpTruncate                   // to Offset bytes
	OpSync                       // what was written before operation number Offset is on the disk
	OpRemove                     // the file's name is gone
	OpSay                        // Data was written to standard output
)

// Op is one operation of a trace.
type Op struct {
	Kind   OpKind
	File   string // its base name
	Offset int64
	Data   []byte
}

// Calls are the system calls that ReadTrace understands, for strace -e.
const Calls = "pwrite64,write,fsync,fdatasync,ftruncate,unlink,unlinkat"

// ReadTrace reads what strace -f -qq -y -xx wrote, with -s larger than any
// write, and returns the operations on the files of dir and on standard output,
// in their order. A write counts from the moment it began, a sync from the
// moment it ended, and a sync covers only what was written before it began:
// each the worse case. Failed calls are left out.
func ReadTrace(r io.Reader, dir string) ([]Op, error) {
	x := &tracer{dir: dir, open: map[string]unfinished{}}
	in := bufio.NewReaderSize(r, 1<<20)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if line != "" {
			if err := x.line(strings.TrimSuffix(line, "\n")); err != nil {
				return nil, fmt.Errorf("trace line %d: %w", n, err)
			}
		}
		if err == io.EOF {
			return x.ops, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// tracer reads one trace.
type tracer struct {
	dir  string
	ops  []Op
	open map[string]unfinished // by thread: the call that it is in
}

// unfinished is a call whose end stands on a later line.
type unfinished struct {
	text string // its line, up to the mark
	at   int    // how many operations there were
}

const cut = " <unfinished ...>"

func (x *tracer) line(line string) error {
	thread, call, ok := strings.Cut(line, " ")
	call = strings.TrimLeft(call, " ")
	if !ok || strings.HasPrefix(call, "---") || strings.HasPrefix(call, "+++") {
		return nil
	}
	if strings.HasPrefix(call, "<... ") {
		began, ok := x.open[thread]
		if !ok {
			return nil
		}
		delete(x.open, thread)
		_, end, _ := strings.Cut(call, "resumed>")
		return x.call(began.text+end, began.at, true)
	}
	if text, ok := strings.CutSuffix(call, cut); ok {
		x.open[thread] = unfinished{text, len(x.ops)}
		if strings.HasPrefix(text, "pwrite64(") || strings.HasPrefix(text, "write(") || strings.HasPrefix(text, "ftruncate(") {
			return x.call(text+") = 0", len(x.ops), false)
		}
		return nil
	}
	return x.call(call, len(x.ops), false)
}

// call adds the operation of one call. resumed says that its beginning was seen
// already, at operation number began.
func (x *tracer) call(text string, began int, resumed bool) error {
	name, rest, ok := strings.Cut(text, "(")
	if !ok {
		return nil
	}
	end := strings.LastIndex(rest, " = ")
	if end < 0 || strings.HasPrefix(rest[end:], " = -1") {
		return nil // it failed; a write that began and failed is kept, which is the worse case
	}
	args := strings.Split(strings.TrimRight(strings.TrimRight(rest[:end], " "), ")"), ", ")
	isWrite := name == "pwrite64" || name == "write" || name == "ftruncate"
	if resumed && isWrite {
		return nil
	}
	if name == "unlink" || name == "unlinkat" {
		for _, a := range args {
			if strings.HasPrefix(a, `"`) {
				path, err := unhex(strings.Trim(a, `"`))
				if err != nil {
					return err
				}
				x.add(Op{Kind: OpRemove, File: x.file(string(path))})
			}
		}
		return nil
	}
	fd, path, ok := strings.Cut(strings.TrimSuffix(args[0], ">"), "<")
	if !ok {
		return nil
	}
	decoded, err := unhex(path)
	if err != nil {
		return err
	}
	op := Op{File: x.file(string(decoded))}
	switch name {
	case "fsync", "fdatasync":
		op.Kind, op.Offset = OpSync, int64(began)
	case "ftruncate":
		op.Kind = OpTruncate
		op.Offset, err = number(args, 1)
	case "pwrite64", "write":
		if name == "write" && fd == "1" {
			op.Kind, op.File = OpSay, "-"
		} else {
			op.Kind = OpWrite
		}
		if op.File == "" {
			return nil
		}
		if len(args) < 3 || strings.HasSuffix(args[1], "...") {
			return fmt.Errorf("a write is cut short: %.80s", text)
		}
		if op.Data, err = unhex(strings.Trim(args[1], `"`)); err != nil {
			return err
		}
		if name == "pwrite64" {
			op.Offset, err = number(args, 3)
		} else if op.Kind == OpWrite {
			return fmt.Errorf("%s was written without an offset, which the replay does not know", op.File)
		}
	}
	if err != nil {
		return err
	}
	x.add(op)
	return nil
}

func (x *tracer) add(op Op) {
	if op.File != "" && op.Kind != 0 {
		x.ops = append(x.ops, op)
	}
}

// file returns the base name of a file in the folder; empty for others.
func (x *tracer) file(path string) string {
	if filepath.Dir(path) != x.dir {
		return ""
	}
	return filepath.Base(path)
}

func number(args []string, n int) (int64, error) {
	if len(args) <= n {
		return 0, fmt.Errorf("%d arguments, expected more than %d", len(args), n)
	}
	return strconv.ParseInt(args[n], 10, 64)
}

// unhex reads \x41\x42 as strace -xx writes it.
func unhex(s string) ([]byte, error) {
	return hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
}
