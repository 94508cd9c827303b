package compute

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
)

// serverInput is a server to create.
type serverInput struct {
	Name           string            `json:"name"`
	Image          *string           `json:"imageRef"`
	Flavor         values            `json:"flavorRef"`
	Networks       json.RawMessage   `json:"networks"`
	SecurityGroups []namedInput      `json:"security_groups"`
	UserData       *string           `json:"user_data"`
	Zone           *string           `json:"availability_zone"`
	ConfigDrive    flag              `json:"config_drive"`
	Key            *string           `json:"key_name"`
	Password       *string           `json:"adminPass"`
	Metadata       map[string]string `json:"metadata"`
	Personality    []fileInput       `json:"personality"`
	MinCount       amount            `json:"min_count"`
	MaxCount       amount            `json:"max_count"`
	Disks          []diskInput       `json:"block_device_mapping_v2"`
	AccessIPv4     string            `json:"accessIPv4"`
	AccessIPv6     string            `json:"accessIPv6"`
	DiskConfig     string            `json:"OS-DCF:diskConfig"`
	Reservation    flag              `json:"return_reservation_id"`
	Description    *string           `json:"description"`
	Tags           []string          `json:"tags"`
	Hostname       string            `json:"hostname"`
	Host           string            `json:"host"`
	Node           string            `json:"hypervisor_hostname"`
	TrustedCerts   []string          `json:"trusted_image_certificates"`
}

type namedInput struct {
	Name string `json:"name"`
}

type fileInput struct {
	Path     string `json:"path"`
	Contents string `json:"contents"`
}

// since returns the attributes of a new server that a microversion added; personality was removed
// by one.
func since() map[string]int {
	return map[string]int{"description": 19, "tags": 52, "trusted_image_certificates": 63, "host": 74,
		"hypervisor_hostname": 74, "hostname": 90}
}

// parse reads JSON that is a part of a body.
func parse(text json.RawMessage, into any) error {
	err := json.Unmarshal(text, into)
	var own *api.Error
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &wrong):
		return api.BadRequest("Invalid input for field/attribute %s. Value: a JSON %s is not of type '%s'", wrong.Field, wrong.Value, wrong.Type)
	}
	return api.BadRequest("Malformed request body")
}

// check refuses what Nova's schema refuses; checks against other records come later.
func (in *serverInput) check(v api.Microversion, raw map[string]json.RawMessage) error {
	for name, minor := range since() {
		if _, given := raw[name]; given && !v.AtLeast(2, minor) {
			return unexpected(name)
		}
	}
	if _, given := raw["personality"]; given && v.AtLeast(2, 57) {
		return unexpected("personality")
	}
	if err := checkName("name", in.Name); err != nil {
		return err
	}
	switch {
	case len(in.Flavor) != 1:
		return api.BadRequest("Invalid input for field/attribute server. 'flavorRef' is a required property")
	case len(in.Networks) == 0 && v.AtLeast(2, 37):
		return api.BadRequest("Invalid input for field/attribute server. 'networks' is a required property")
	case in.DiskConfig != "" && in.DiskConfig != "AUTO" && in.DiskConfig != "MANUAL":
		return api.BadRequest("Invalid input for field/attribute OS-DCF:diskConfig. Value: %s. %q is not one of ['AUTO', 'MANUAL']", in.DiskConfig, in.DiskConfig)
	case len(in.Tags) > 50:
		return api.BadRequest("Invalid input for field/attribute tags. The number of tags exceeded the per-server limit 50")
	}
	for _, tag := range in.Tags {
		if tag == "" || len(tag) > 60 || strings.ContainsAny(tag, ",/") {
			return api.BadRequest("Invalid input for field/attribute tags. Value: %s. %q does not match '^[^,/]*$'", tag, tag)
		}
	}
	if err := checkMetadata(in.Metadata); err != nil {
		return err
	}
	return in.counts()
}

func unexpected(name string) error {
	return api.BadRequest("Invalid input for field/attribute server. Additional properties are not allowed ('%s' was unexpected)", name)
}

// checkName refuses names that are empty or too long.
func checkName(field, name string) error {
	if strings.TrimSpace(name) == "" || len(name) > 255 {
		return api.BadRequest("Invalid input for field/attribute %s. Value: %s. %q is too short or too long", field, name, name)
	}
	return nil
}

func checkMetadata(m map[string]string) error {
	for key, value := range m {
		if key == "" || len(key) > 255 || len(value) > 255 {
			return api.BadRequest("Invalid input for field/attribute metadata. Value: %s. %q is too short or too long", key, key)
		}
	}
	return nil
}

// counts checks min_count and max_count and sets their defaults.
func (in *serverInput) counts() error {
	if in.MinCount < 0 || in.MaxCount < 0 {
		return api.BadRequest("Invalid input for field/attribute min_count. A count is less than the minimum of 1")
	}
	if in.MinCount == 0 {
		in.MinCount = 1
	}
	if in.MaxCount == 0 {
		in.MaxCount = in.MinCount
	}
	if in.MinCount > in.MaxCount {
		return api.BadRequest("min_count must be <= max_count")
	}
	return nil
}

// userData decodes user data, which is base64 of 64 KiB at most.
func userData(text *string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	if len(*text) > 65535 {
		return nil, api.BadRequest("Invalid input for field/attribute user_data. Value: %.32s…. The value is too long", *text)
	}
	kept, ok := sextets(*text)
	data, err := base64.RawStdEncoding.DecodeString(kept)
	if !ok || err != nil {
		return nil, api.BadRequest("Invalid input for field/attribute user_data. Value: %.32s…. The value is not a 'base64'", *text)
	}
	return data, nil
}

// sextets returns the characters of base64 that Nova's check sees in a text, without the padding:
// Python's decodebytes skips all others, ends at the first complete padding, and refuses only a
// text whose padding is missing.
func sextets(text string) (kept string, ok bool) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var b strings.Builder
	padding := 0
	for _, r := range text {
		switch open := b.Len() % 4; {
		case strings.ContainsRune(alphabet, r):
			b.WriteRune(r)
			padding = 0
		case r != '=':
		case open >= 2 && open+padding+1 >= 4:
			return b.String(), true
		default:
			padding++
		}
	}
	return b.String(), b.Len()%4 == 0
}

// files decodes the files that are put into the server, within the limits.
func files(list []fileInput, limits map[string]int) (map[string][]byte, error) {
	over := func(resource string, n int) bool { return limits[resource] >= 0 && n > limits[resource] }
	if over("injected_files", len(list)) {
		return nil, api.Forbidden("Personality file limit exceeded")
	}
	out := map[string][]byte{}
	for _, f := range list {
		data, err := base64.StdEncoding.DecodeString(f.Contents)
		switch {
		case err != nil:
			return nil, api.BadRequest("Personality content for %s cannot be decoded", f.Path)
		case over("injected_file_path_bytes", len(f.Path)):
			return nil, api.Forbidden("Personality file path exceeds maximum length %d", limits["injected_file_path_bytes"])
		case over("injected_file_content_bytes", len(data)):
			return nil, api.Forbidden("Personality file content exceeds maximum length %d", limits["injected_file_content_bytes"])
		}
		out[f.Path] = data
	}
	return out, nil
}

// hostname turns a server's name into a host name, as Nova does.
func hostname(name, id string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '_':
			return '-'
		case r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-", r)):
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	clean = strings.Trim(clean, ".-")
	if len(clean) > 63 {
		clean = strings.Trim(clean[:63], ".-")
	}
	if clean == "" {
		return "server-" + id
	}
	return clean
}

// hints reads the scheduler's hints, which are beside the server in the body.
func hints(body map[string]json.RawMessage) (map[string][]string, error) {
	for _, name := range []string{"os:scheduler_hints", "OS-SCH-HNT:scheduler_hints"} {
		raw, ok := body[name]
		if !ok {
			continue
		}
		var in map[string]values
		if err := parse(raw, &in); err != nil {
			return nil, err
		}
		out := map[string][]string{}
		for key, list := range in {
			out[key] = slices.Clone(list)
		}
		return out, nil
	}
	return nil, nil
}
