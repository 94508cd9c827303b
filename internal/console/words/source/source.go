// Package source finds the messages that the consoles' templates and Go code name, and texts in
// templates that are none. Tests and the command that lists what a language lacks read it.
package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// Message is a message that is named somewhere.
type Message struct {
	English string
	// Where are the files that name it.
	Where []string
	// Markup says that only templates name it, so that it may have tags.
	Markup bool
}

// Found is what the sources have.
type Found struct {
	// Messages are in the order of their English.
	Messages []Message
	// Loose are texts in templates that are no message, and messages that are not written out.
	Loose []string
}

// Folders have the sources, below the root of the repository.
func Folders() []string {
	return []string{filepath.Join("internal", "console"), filepath.Join("internal", "cli", "console")}
}

// Read reads the sources below the root of the repository.
func Read(root string) (Found, error) {
	r := reader{messages: map[string]*Message{}}
	for _, folder := range Folders() {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			switch {
			case strings.HasSuffix(path, "_test.go"):
				return nil
			case filepath.Ext(path) == ".go":
				return r.goFile(path)
			case filepath.Ext(path) == ".html":
				return r.template(path)
			}
			return nil
		})
		if err != nil {
			return Found{}, fmt.Errorf("reading %s: %w", folder, err)
		}
	}
	found := Found{Loose: r.loose}
	for _, m := range r.messages {
		slices.Sort(m.Where)
		m.Where = slices.Compact(m.Where)
		found.Messages = append(found.Messages, *m)
	}
	slices.SortFunc(found.Messages, func(a, b Message) int { return strings.Compare(a.English, b.English) })
	return found, nil
}

type reader struct {
	messages map[string]*Message
	loose    []string
}

func (r *reader) note(english, where string, markup bool) {
	m := r.messages[english]
	if m == nil {
		m = &Message{English: english, Markup: markup}
		r.messages[english] = m
	}
	m.Where, m.Markup = append(m.Where, where), m.Markup && markup
}

func (r *reader) stray(where, format string, args ...any) {
	r.loose = append(r.loose, where+": "+fmt.Sprintf(format, args...))
}

// goFile finds calls of words.T.
func (r *reader) goFile(path string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		return err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		callee, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || callee.Sel.Name != "T" || len(call.Args) == 0 {
			return true
		}
		if of, ok := callee.X.(*ast.Ident); !ok || of.Name != "words" {
			return true
		}
		text, ok := call.Args[0].(*ast.BasicLit)
		if !ok || text.Kind != token.STRING {
			r.stray(files.Position(call.Pos()).String(), "the message is not written out")
			return true
		}
		english, err := strconv.Unquote(text.Value)
		if err == nil {
			r.note(english, path, false)
		}
		return true
	})
	return nil
}

// template finds calls of t, and texts that are no message.
func (r *reader) template(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	tree := parse.New(filepath.Base(path))
	tree.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(string(text), "", "", trees); err != nil {
		return err
	}
	for _, one := range trees {
		var page strings.Builder
		r.walk(one.Root, path, &page)
		for _, stray := range texts(page.String()) {
			r.stray(path, "%q is no message", stray)
		}
	}
	return nil
}

// walk notes the messages below a node, and writes what the page has of its own.
func (r *reader) walk(node parse.Node, path string, page *strings.Builder) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n == nil {
			return
		}
		for _, one := range n.Nodes {
			r.walk(one, path, page)
		}
	case *parse.TextNode:
		page.Write(n.Text)
	case *parse.ActionNode:
		r.pipe(n.Pipe, path)
	case *parse.TemplateNode:
		r.pipe(n.Pipe, path)
	case *parse.IfNode:
		r.branch(&n.BranchNode, path, page)
	case *parse.WithNode:
		r.branch(&n.BranchNode, path, page)
	case *parse.RangeNode:
		r.branch(&n.BranchNode, path, page)
	}
}

func (r *reader) branch(n *parse.BranchNode, path string, page *strings.Builder) {
	r.pipe(n.Pipe, path)
	r.walk(n.List, path, page)
	r.walk(n.ElseList, path, page)
}

// pipe notes the messages in what an action says.
func (r *reader) pipe(n *parse.PipeNode, path string) {
	if n == nil {
		return
	}
	for _, command := range n.Cmds {
		for _, arg := range command.Args {
			if inner, ok := arg.(*parse.PipeNode); ok {
				r.pipe(inner, path)
			}
		}
		called, ok := command.Args[0].(*parse.IdentifierNode)
		if !ok {
			continue
		}
		last := command.Args[len(command.Args)-1]
		switch called.Ident {
		case "t":
			if text, ok := command.Args[1].(*parse.StringNode); ok {
				r.note(text.Text, path, true)
			} else {
				r.stray(path, "%s is not written out", command)
			}
		case "badge", "name", "text":
			if text, ok := last.(*parse.StringNode); ok {
				r.stray(path, "%q is no message", text.Text)
			}
		}
	}
}

var verb = regexp.MustCompile(`%(?:\[(\d+)\])?([a-z%])`)

// Verbs are the arguments that a message names, as 1s or 2d, in their order.
func Verbs(text string) []string {
	var all []string
	next := 1
	for _, match := range verb.FindAllStringSubmatch(text, -1) {
		if match[2] == "%" {
			continue
		}
		if at, err := strconv.Atoi(match[1]); err == nil {
			next = at
		}
		kind := match[2]
		if kind == "q" { // languages have quotes of their own
			kind = "s"
		}
		all = append(all, strconv.Itoa(next)+kind)
		next++
	}
	slices.Sort(all)
	return all
}

var tag = regexp.MustCompile(`</?[a-z0-9]+>`)

// Tags are the tags of a message, in their order of names, and what is left without them.
func Tags(text string) (tags []string, rest string) {
	tags = tag.FindAllString(text, -1)
	slices.Sort(tags)
	return tags, tag.ReplaceAllString(text, "")
}
