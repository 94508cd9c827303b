package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// flagError says what is wrong with a flag's value, where Go's parsers name themselves.
func flagError(err error) error {
	var flag *pflag.InvalidValueError
	if !errors.As(err, &flag) {
		return err
	}
	var parser *strconv.NumError
	what := "is not a number"
	switch {
	case flag.GetFlag().Value.Type() == "duration":
		what = "is not a duration, such as 90s, 5m or 1h30m"
	case !errors.As(err, &parser):
		return err
	case parser.Func == "ParseBool":
		what = "is neither true nor false"
	case errors.Is(parser, strconv.ErrRange):
		what = "is out of range"
	}
	return fmt.Errorf("--%s: %q %s", flag.GetFlag().Name, flag.GetValue(), what)
}
