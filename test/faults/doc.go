// Package faults plants faults of all layers and checks that the engine of causes names
// each: the right reason and the right object. docs/design/0023-causes.md says how to add
// one; `go test ./test/faults -update` writes docs/reference/causes.md from a run.
package faults
