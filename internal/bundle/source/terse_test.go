package source

import "testing"

// TestDefinitionsWithoutDescriptions keep everything else, also a field by that name.
func TestDefinitionsWithoutDescriptions(t *testing.T) {
	t.Parallel()
	const given = `metadata:
  name: a
spec:
  description: what it is
  required:
  - description
  properties:
    description:
      description: |-
        Of the shop.
      type: string
---
kind: B
items:
- description: one
  name: two
`
	const want = `metadata:
  name: a
spec:
  required:
  - description
  properties:
    description:
      type: string
---
kind: B
items:
- name: two
`
	got, err := terse([]byte(given))
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := terse([]byte("a: [")); err == nil {
		t.Error("text that is no YAML passes")
	}
}
