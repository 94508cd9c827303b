module github.com/santhosh-tekuri/jsonschema/v5

go 1.22

require (
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.2
	golang.org/x/text v0.14.0
)
