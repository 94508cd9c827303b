// Package inflector replaces the inflection library with which Pulumi names loop variables in the
// code that "pulumi convert" writes, a command that Slipway does not have. The original compiles
// its rules of English when the program starts.
package inflector

// Singularize leaves a word as it is.
func Singularize(word string) string { return word }

// Pluralize leaves a word as it is.
func Pluralize(word string) string { return word }
