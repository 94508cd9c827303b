package compute

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// amount is a whole number that clients may send as text.
type amount int

// UnmarshalJSON reads 2 and "2"; empty text is 0, as Nova writes no swap.
func (a *amount) UnmarshalJSON(text []byte) error {
	word := string(bytes.Trim(text, `"`))
	if word == "" || word == "null" {
		*a = 0
		return nil
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return api.BadRequest("Invalid input. Value: %s. %s is not of type 'integer'", word, word)
	}
	*a = amount(n)
	return nil
}

// flag is a truth value that clients may send as text.
type flag bool

// UnmarshalJSON reads true, "true", "True", "1" and their opposites.
func (f *flag) UnmarshalJSON(text []byte) error {
	switch word := string(bytes.ToLower(bytes.Trim(text, `"`))); word {
	case "true", "1", "t", "yes", "on", "y":
		*f = true
	case "false", "0", "f", "no", "off", "n", "", "null":
		*f = false
	default:
		return api.BadRequest("Invalid input. Value: %s. %s is not of type 'boolean'", word, word)
	}
	return nil
}

// values is text, or a list of it.
type values []string

// UnmarshalJSON reads "a" and ["a", "b"]; other kinds keep their JSON text.
func (v *values) UnmarshalJSON(text []byte) error {
	var many []string
	if json.Unmarshal(text, &many) == nil {
		*v = many
		return nil
	}
	var one string
	if json.Unmarshal(text, &one) != nil {
		one = string(text)
	}
	*v = values{one}
	return nil
}
