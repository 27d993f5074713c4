module github.com/fsmgen/fsmgen/internal/lab/schemacheck

go 1.26.0

require (
	github.com/fsmgen/fsmgen v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	gopkg.in/yaml.v3 v3.0.1
)

require (
	golang.org/x/text v0.41.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
)

replace github.com/fsmgen/fsmgen => ../../..
