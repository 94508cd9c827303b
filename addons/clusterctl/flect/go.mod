module github.com/gobuffalo/flect

go 1.22
