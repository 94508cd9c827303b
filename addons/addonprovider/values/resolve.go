package values

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// resolver has the implicit types of YAML 1.1 (https://yaml.org/type) as PyYAML reads them;
// timestamps stay text, since values end up as JSON.
type resolver struct {
	integer, float *regexp.Regexp
}

func newResolver() resolver {
	return resolver{
		integer: regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`),
		float: regexp.MustCompile(`^(?:[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?` +
			`|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`),
	}
}

// implicit is never changed after it is made.
var implicit = newResolver()

// resolve returns the value of a plain scalar.
func resolve(text string) any {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true
	case "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false
	}
	if !strings.ContainsAny(text[:1], "-+.0123456789") {
		return text
	}
	if implicit.integer.MatchString(text) {
		if n, ok := integer(strings.ReplaceAll(text, "_", "")); ok {
			return n
		}
		return text
	}
	if implicit.float.MatchString(text) {
		if f, ok := float(strings.ReplaceAll(text, "_", "")); ok {
			return f
		}
	}
	return text
}

func integer(text string) (int64, bool) {
	sign, digits := int64(1), strings.TrimLeft(text, "+-")
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	if strings.Contains(digits, ":") {
		n := int64(0)
		for part := range strings.SplitSeq(digits, ":") {
			digit, err := strconv.ParseInt(part, 10, 64)
			if err != nil || n > math.MaxInt64/120 {
				return 0, false
			}
			n = n*60 + digit
		}
		return sign * n, true
	}
	base := 10
	switch {
	case strings.HasPrefix(digits, "0b"):
		base, digits = 2, digits[2:]
	case strings.HasPrefix(digits, "0x"):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	n, err := strconv.ParseInt(digits, base, 64)
	return sign * n, err == nil
}

func float(text string) (float64, bool) {
	lower := strings.ToLower(text)
	switch strings.TrimLeft(lower, "+-") {
	case ".inf":
		if lower[0] == '-' {
			return math.Inf(-1), true
		}
		return math.Inf(1), true
	case ".nan":
		return math.NaN(), true
	}
	if strings.Contains(lower, ":") {
		return 0, false
	}
	f, err := strconv.ParseFloat(lower, 64)
	return f, err == nil
}
