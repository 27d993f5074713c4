module github.com/fsmgen/fsmgen/internal/lab/tools/site

go 1.26.0

require github.com/fsmgen/fsmgen v0.0.0

require (
	github.com/yuin/goldmark v1.8.7
	golang.org/x/image v0.45.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.41.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/fsmgen/fsmgen => ../../../..
