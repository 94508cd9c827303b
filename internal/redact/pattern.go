package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// form is a form of secrets, with what stays of it.
type form struct {
	name string
	of   *regexp.Regexp
	with string
}

// words are names whose values are secrets, in logs and settings.
const words = `(?:[\w.-]*(?:password|passwd|passphrase|secret|token|private[_-]?key|secret[_-]?key|api[_-]?key|credential)[\w.-]*)`

var patterns = sync.OnceValue(func() []form {
	return []form{
		// A block whose end is missing ends with the text: a log may be cut there.
		{"private key", regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), Mark},
		{"end of a private key", regexp.MustCompile(`(?:^|\n)(?:[A-Za-z0-9+/=]{40,76}\s*\n)*[A-Za-z0-9+/=]{1,76}\s*\n-----END [A-Z0-9 ]*PRIVATE KEY-----`), "\n" + Mark},
		{"encrypted file", regexp.MustCompile(`-----BEGIN AGE ENCRYPTED FILE-----(?s:.*?)(?:-----END AGE ENCRYPTED FILE-----|\z)`), Mark},
		{"age identity", regexp.MustCompile(`AGE-SECRET-KEY-1[0-9A-Za-z]+`), Mark},
		// PEM and the names of kubeconfigs and cloud-init in base64.
		{"PEM in base64", regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/_-]{20,}={0,2}`), Mark},
		{"settings in base64", regexp.MustCompile(`\b(?:I2Nsb3VkLWNvbmZpZ|YXBpVmVyc2lvbjogdj|Y2xvdWRzO|IyEvYmluL|H4sIA)[A-Za-z0-9+/_-]{40,}={0,2}`), Mark},
		{"JWT", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), Mark},
		{"Fernet token", regexp.MustCompile(`\bgAAAA[A-Za-z0-9_-]{40,}={0,2}`), Mark},
		{"bootstrap token", regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`), Mark},
		{"certificate key", regexp.MustCompile(`(--certificate-key[ =]|[Cc]ertificate[ _-]?[Kk]ey"?[:=]\s*"?)[0-9a-f]{32,}`), "${1}" + Mark},
		{"GitHub or GitLab token", regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_-]{16,}`), Mark},
		{"login in an address", regexp.MustCompile(`(://[^/\s:@"']*:)[^/\s@"']+@`), "${1}" + Mark + "@"},
		{"header", regexp.MustCompile(`(?i)((?:x-(?:auth|subject|service|storage)-token|authorization|proxy-authorization|cookie|set-cookie)["']?\s*[:=]\s*["'\[]*)(?:(?:bearer|basic|negotiate)\s+)?[^\s"'\]]+`), "${1}" + Mark},
		{"bearer", regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9+/._~-]{12,}=*`), "${1}" + Mark},
		{"value in quotes", regexp.MustCompile(`(?i)((?:^|[^\w.-])\\?["']?` + words + `\\?["']?\s*[:=]\s*\\?["'])([^"'\\\n]+)`), ""},
		{"value", regexp.MustCompile(`(?i)((?:^|[^\w.-])["']?` + words + `["']?(?:=|:[ \t]*))([^\s"'\\{}\[\],;]+)`), ""},
		{"argument", regexp.MustCompile(`(?i)(--?[\w-]*(?:password|passwd|secret|token)[\w-]* )([^\s"'-][^\s"']*)`), ""},
	}
})

// harmless are values that stand beside such names and are no secrets: they tell of them. The last
// one is an object by its namespace and name, which have no capitals: passwords of random bytes in
// base64 have a slash as well.
var harmless = regexp.MustCompile(`^(?:(?i:true|false|null|none|nil|yes|no|\d{1,5}|<[\w-]+>|\[removed.*|invalid|expired|missing|required|unknown|not|is|was|has|the|a|an|of|in|for|cannot|could|does|failed|unable|error:?|opaque)|[a-z0-9.-]+/[a-z0-9.-]+)[.,:)]?$`)

// plain are the words of names: a value of lower case words is the name of a Secret.
var plain = regexp.MustCompile(`^[a-z]+(?:[-.][a-z0-9]+)*$`)

// named are names that end in what says that the value is a name of a secret, or a time.
var named = regexp.MustCompile(`(?i)(?:name|names|ref|path|file|dir|type|id|ids|count|version|controller|namespace|expir\w*|size|bytes|url|uri)\\?["']?\s*[:=]\s*\\?["']?$`)

// pattern removes what has the form of a secret.
func pattern(text string) string {
	for _, p := range patterns() {
		if p.with != "" {
			text = p.of.ReplaceAllString(text, p.with)
			continue
		}
		text = p.of.ReplaceAllStringFunc(text, func(found string) string {
			parts := p.of.FindStringSubmatch(found)
			name, value := parts[1], parts[2]
			if harmless.MatchString(value) || named.MatchString(name) || p.name == "value" && strings.Contains(name, ": ") && plain.MatchString(value) {
				return found
			}
			return name + Mark
		})
	}
	return text
}

// Sensitive reports whether a field of this name holds a secret: password, clientSecret,
// tls.key, clouds.yaml.
func Sensitive(name string) bool {
	name = strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name))
	return slices.ContainsFunc([]string{"password", "passwd", "passphrase", "privatekey", "secretkey", "accesskey", "clientsecret", "credentialsecret", "apikey", "certificatekey"},
		func(end string) bool { return strings.HasSuffix(name, end) }) ||
		slices.Contains([]string{"token", "authtoken", "accesstoken", "refreshtoken", "idtoken", "identitytoken", "registrytoken", "bearertoken", "secret", "pwd", "pass", "userdata", "kubeconfig",
			"cloudsyaml", "cloudconf", "cloudconfig", "auth", "dockerconfigjson", "dockercfg", "tlskey", "keydata", "clientkeydata", "adminpass", "sshkey", "hashedpassword", "encryptionconfig", "encryptionkey"}, name)
}
