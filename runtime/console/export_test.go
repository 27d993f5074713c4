package console

// Paths lists the addresses of a console.
func Paths() (list []string) {
	for _, r := range routes {
		list = append(list, r.path)
	}
	return list
}
