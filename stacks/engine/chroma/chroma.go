// Package chroma replaces the syntax highlighter that Pulumi's commands import for "pulumi env"
// and for answers of its assistant, which Slipway does not use. The original compiles its
// languages and styles when the program starts, which costs every command and every process of
// the engine 4 MiB of memory and a fiftieth of a second.
package chroma

// TokenType is a kind of word in a text.
type TokenType int

// The kinds that the callers name.
const (
	Background TokenType = iota
	Comment
	CommentPreproc
	Error
	GenericDeleted
	GenericEmph
	GenericInserted
	GenericStrong
	GenericSubheading
	Keyword
	KeywordNamespace
	KeywordReserved
	KeywordType
	Literal
	LiteralDate
	LiteralNumber
	LiteralString
	LiteralStringEscape
	Name
	NameAttribute
	NameBuiltin
	NameClass
	NameConstant
	NameDecorator
	NameException
	NameFunction
	NameOther
	NameTag
	Operator
	Punctuation
	Text
)

// StyleEntries say how each kind looks.
type StyleEntries map[TokenType]string

// Style has no more than its name.
type Style struct{ Name string }

// MustNewStyle forgets the entries.
func MustNewStyle(name string, _ StyleEntries) *Style { return &Style{Name: name} }
