// Package redact takes secrets out of what leaves the machine, in two steps: objects lose
// the fields that hold secrets by their structure, and every byte that is written loses
// known secret values and what has the form of a secret.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Mark stands where a secret was.
const Mark = "[removed]"

const (
	// shortest is the length of the shortest value that is taken for a secret because of
	// where it stands; below it, it is removed by structure alone, because words such as
	// "true" are everywhere.
	shortest = 6
	// opaque is the length of the shortest value of a Secret whose key says nothing.
	opaque = 8
)

// Known are secret values that must not be in anything that is written. Its methods are
// safe for concurrent use.
type Known struct {
	mu     sync.Mutex
	values map[string]bool
	pass   *strings.Replacer // nil if a value came since
}

// Add adds values, such as passwords. Of a value of several lines, such as a private key,
// each long line is a secret too. Values that are too short are left out.
func (k *Known) Add(values ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values == nil {
		k.values = map[string]bool{}
	}
	for _, value := range values {
		value = strings.TrimSpace(value)
		if len(value) < shortest {
			continue
		}
		k.values[value], k.pass = true, nil
		if !strings.Contains(value, "\n") {
			continue
		}
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= 40 && !strings.HasPrefix(line, "-----") {
				k.values[line] = true
			}
		}
	}
}

// Count is how many values are known.
func (k *Known) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.values)
}

// forms are how a value may be written: as it is, quoted in JSON, in a URL, and in base64
// by itself or in the middle of something longer, where it may begin at any of three
// places.
func forms(value string) []string {
	all := []string{value, url.QueryEscape(value), url.PathEscape(value)}
	if quoted, err := json.Marshal(value); err == nil {
		all = append(all, string(quoted[1:len(quoted)-1]))
	}
	for shift := range 3 {
		padded := slices.Concat(make([]byte, shift), []byte(value))
		// Characters at both ends hold bits of what stands beside the value.
		from, to := (shift*8+5)/6, len(padded)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if text := encoding.EncodeToString(padded); to-from >= shortest {
				all = append(all, text[from:to])
			}
		}
	}
	return all
}

// replacer is made anew when values came.
func (k *Known) replacer() *strings.Replacer {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pass != nil {
		return k.pass
	}
	var all []string
	for value := range k.values {
		all = append(all, forms(value)...)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // of two at one place the longer one
	var pairs []string
	for _, form := range slices.Compact(all) {
		pairs = append(pairs, form, Mark)
	}
	k.pass = strings.NewReplacer(pairs...)
	return k.pass
}

// Scrub returns a text without known values and without what has the form of a secret. Of
// JSON every text in it is looked through by itself, so that it stays JSON.
func (k *Known) Scrub(text []byte) []byte {
	known := k.replacer()
	if leaves, ok := inJSON(text, func(s string) string { return pattern(known.Replace(s)) }); ok {
		leaves = []byte(known.Replace(string(leaves)))
		if clean := []byte(pattern(string(leaves))); json.Valid(clean) {
			return clean
		}
		return leaves
	}
	return []byte(pattern(known.Replace(string(text))))
}

// inJSON changes each text in JSON; ok is false if it is none.
func inJSON(text []byte, change func(string) string) (changed []byte, ok bool) {
	if start := bytes.TrimSpace(text); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // whole numbers stay whole
	var value any
	if decoder.Decode(&value) != nil || decoder.More() {
		return nil, false
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(leaves(value, change))
	return out.Bytes(), err == nil
}

// leaves changes each text in a value, the names of fields too.
func leaves(value any, change func(string) string) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			if text, ok := inner.(string); ok && text != "" && !harmless.MatchString(text) && Sensitive(name) {
				inner = Mark
			}
			out[change(name)] = leaves(inner, change)
		}
		return out
	case []any:
		for i, inner := range v {
			v[i] = leaves(inner, change)
		}
	case string:
		return change(v)
	}
	return value
}

// Left reports whether a known value is in a text, for a last look at what was scrubbed.
func (k *Known) Left(text []byte) bool {
	clean := k.replacer().Replace(string(text))
	return !bytes.Equal([]byte(clean), text)
}
