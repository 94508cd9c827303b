module github.com/pulumi/inflector

go 1.22
