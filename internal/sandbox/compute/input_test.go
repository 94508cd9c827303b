package compute

import "testing"

// TestUserDataIsReadAsNovaReadsIt has what Python's base64.decodebytes makes of
// each text; "refused" stands for its error.
func TestUserDataIsReadAsNovaReadsIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"aGk=": "hi", "aGk=\n": "hi", "aG\nk=": "hi", "aGk=%%": "hi", "aGk=aGk=": "hi", "ab==": "i", "abc=": "i\xb7",
		"abcd=": "i\xb7\x1d", "%%%": "", "": "", "a": "refused", "ab": "refused", "abc": "refused", "ab=": "refused", "ab=c": "refused",
		"a===": "refused", "=aGk": "refused", "abcde": "refused",
	} {
		data, err := userData(&text)
		if err != nil {
			data = []byte("refused")
		}
		if string(data) != want {
			t.Errorf("%q is %q, want %q", text, data, want)
		}
	}
}
