module github.com/fsmgen/fsmgen/cmd/fsmvet/vet/golangci

go 1.26.0

require (
	github.com/fsmgen/fsmgen v0.0.0
	github.com/golangci/plugin-module-register v0.1.2
	golang.org/x/tools v0.52.0
)

require gopkg.in/yaml.v3 v3.0.1 // indirect

replace github.com/fsmgen/fsmgen => ../../../..
