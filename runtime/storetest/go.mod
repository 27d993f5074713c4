module github.com/fsmgen/fsmgen/runtime/storetest

go 1.26.0

require github.com/fsmgen/fsmgen v0.0.0

replace github.com/fsmgen/fsmgen => ../..
