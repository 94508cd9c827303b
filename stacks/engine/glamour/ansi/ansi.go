// Package ansi has the styles that Pulumi's "env" declares; see package glamour.
package ansi

// StylePrimitive is the look of a text.
type StylePrimitive struct {
	BlockPrefix, BlockSuffix, Prefix, Suffix, Format                                    string
	Color, BackgroundColor                                                              *string
	Underline, Bold, Upper, Lower, Italic, CrossedOut, Faint, Overlined, Inverse, Blink *bool
}

// StyleBlock is the look of a paragraph.
type StyleBlock struct {
	StylePrimitive
	Indent, Margin *uint
	IndentToken    *string
}

// StyleList is the look of a list.
type StyleList struct {
	StyleBlock
	LevelIndent uint
}

// StyleTask is the look of an item to tick.
type StyleTask struct {
	StylePrimitive
	Ticked, Unticked string
}

// StyleTable is the look of a table.
type StyleTable struct {
	StyleBlock
	CenterSeparator, ColumnSeparator, RowSeparator *string
}

// StyleCodeBlock is the look of code.
type StyleCodeBlock struct {
	StyleBlock
	Chroma *Chroma
}

// Chroma is the look of each kind of word in code.
type Chroma struct {
	Text, Error, Comment, CommentPreproc, Keyword, KeywordReserved, KeywordNamespace, KeywordType, Operator,
	Punctuation, Name, NameBuiltin, NameTag, NameAttribute, NameClass, NameConstant, NameDecorator, NameException,
	NameFunction, NameOther, Literal, LiteralNumber, LiteralDate, LiteralString, LiteralStringEscape,
	GenericDeleted, GenericEmph, GenericInserted, GenericStrong, GenericSubheading, Background StylePrimitive
}

// StyleConfig is the look of everything.
type StyleConfig struct {
	Document, BlockQuote, Heading, H1, H2, H3, H4, H5, H6, Code StyleBlock
	Strikethrough, Emph, Strong, HorizontalRule, Item, Enumeration, Link, LinkText, Image, ImageText,
	DefinitionDescription StylePrimitive
	List      StyleList
	Task      StyleTask
	CodeBlock StyleCodeBlock
	Table     StyleTable
}
