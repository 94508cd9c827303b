package cloud

import (
	"bytes"
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Portable is an entry of a clouds.yaml that was written on another machine.
type Portable struct {
	// CloudsYAML has the entry alone, without paths, which are of that machine. It is secret.
	CloudsYAML []byte
	// Authorities are certificates that the entry has in PEM in the place of a path.
	Authorities []byte
	AuthURL     string
}

// ParsePortable reads an entry as CAPO does, which looks at no paths. Errors do not quote the
// text, which is secret.
func ParsePortable(text []byte, entry string) (p Portable, err error) {
	var document struct {
		Clouds map[string]map[string]any `json:"clouds"`
	}
	if yaml.Unmarshal(text, &document) != nil {
		return p, errors.New("it is not a valid clouds.yaml")
	}
	found, ok := document.Clouds[entry]
	if !ok {
		return p, fmt.Errorf("it has no cloud %q", entry)
	}
	for _, key := range []string{"cacert", "cert", "key"} {
		if value, _ := found[key].(string); key == "cacert" && bytes.Contains([]byte(value), []byte("BEGIN CERTIFICATE")) {
			p.Authorities = []byte(value)
		}
		delete(found, key)
	}
	auth, _ := found["auth"].(map[string]any)
	p.AuthURL, _ = auth["auth_url"].(string)
	if p.CloudsYAML, err = yaml.Marshal(map[string]any{"clouds": map[string]any{entry: found}}); err != nil {
		return p, errors.New("it cannot be encoded again")
	}
	return p, nil
}

// Portable are the options with a CloudsYAML that was written on another machine. One that cannot
// be read stays, for Open to tell.
func (o Options) Portable() Options {
	p, err := ParsePortable(o.CloudsYAML, o.Cloud)
	if err != nil {
		return o
	}
	o.CloudsYAML, o.CABundle = p.CloudsYAML, bytes.TrimSpace(bytes.Join([][]byte{o.CABundle, p.Authorities}, []byte("\n")))
	return o
}
