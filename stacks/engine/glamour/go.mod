module github.com/charmbracelet/glamour

go 1.22
