package console

// Paths lists the methods and addresses of a console.
func Paths() (list []string) {
	for _, r := range routes {
		list = append(list, r.method+" "+r.path)
	}
	return list
}
