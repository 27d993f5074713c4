// Package schemacheck holds the tests of the two schemas that fsmgen meets: the
// one of its specifications, which must accept exactly what it should, and the
// one of SARIF, which its reports must follow.
//
// It is a module of its own so that no user of fsmgen downloads a JSON Schema
// validator. It does not test whether an editor shows the texts of the schema.
package schemacheck
