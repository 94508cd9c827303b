package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestWhatIsKnownGoesInEveryForm: as it is, quoted, in an address, and in base64 at each
// of the three places where it may begin.
func TestWhatIsKnownGoesInEveryForm(t *testing.T) {
	t.Parallel()
	const value = `p4ss"w/ord&9`
	k := &Known{}
	k.Add(value, "short", "")
	if k.Count() != 1 {
		t.Errorf("%d values are known", k.Count())
	}
	quoted, _ := json.Marshal(map[string]string{"x": value})
	texts := []string{"before " + value + " after", string(quoted), "http://h/?q=p4ss%22w%2Ford%269"}
	for _, before := range []string{"", "a", "ab", "abc"} {
		texts = append(texts, base64.StdEncoding.EncodeToString([]byte(before+value+"zz")), base64.URLEncoding.EncodeToString([]byte(before+value)))
	}
	for _, text := range texts {
		clean := string(k.Scrub([]byte(text)))
		if strings.Contains(clean, "p4ss") || !strings.Contains(clean, Mark) || k.Left([]byte(clean)) || !k.Left([]byte(text)) {
			t.Errorf("%s\n  became %s", text, clean)
		}
		for piece := range strings.SplitSeq(clean, Mark) { // nothing of it decodes
			for shift := range min(4, len(piece)) {
				raw, _ := base64.StdEncoding.DecodeString(piece[shift:])
				if strings.Contains(string(raw), "p4ss") || strings.Contains(string(raw), "w/ord") {
					t.Errorf("%s decodes to %q", clean, raw)
				}
			}
		}
	}
}

// TestLinesOfAKeyAreKnown, because a log may have a part of it only.
func TestLinesOfAKeyAreKnown(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("Zk9", 16)
	k := &Known{}
	k.Add("-----BEGIN OPENSSH PRIVATE KEY-----\n" + line + "\n-----END OPENSSH PRIVATE KEY-----\n")
	if clean := string(k.Scrub([]byte("x: " + line))); strings.Contains(clean, "Zk9") {
		t.Error(clean)
	}
}

func TestFormsOfSecretsGo(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIEsecretsecret\n"
	for name, text := range map[string]string{
		"private key":            key + "-----END RSA PRIVATE KEY-----",
		"private key, cut":       "log: " + key,
		"end of a private key":   strings.Repeat("secretse", 8) + "\nsecret==\n-----END PRIVATE KEY-----\nafter",
		"private key, escaped":   `{"key": "-----BEGIN EC PRIVATE KEY-----\nMHcsecret\n-----END EC PRIVATE KEY-----\n"}`,
		"private key in base64":  "data: " + base64.StdEncoding.EncodeToString([]byte(key)),
		"JWT":                    "got eyJhbGciOiJSUzI1NiIs.eyJzdWIiOiJzZWNyZXQi.c2VjcmV0c2VjcmV0",
		"Fernet":                 "id gAAAAABlsecretsecretsecretsecretsecretsecretsecretsecret==",
		"age":                    "AGE-SECRET-KEY-1SECRETQQQQ",
		"bootstrap token":        "kubeadm join --token abcdef.0123456789secret",
		"address":                "cloning https://user:secretword@host/path",
		"token header":           "X-Auth-Token: secretword",
		"authorization":          `"Authorization": "Bearer secretsecretword"`,
		"bearer":                 "curl -H 'bearer secretsecretword'",
		"password in JSON":       `{"password": "secret word", "x": 1}`,
		"password in nested":     `{\"adminPass\": \"x\", \"password\": \"secretword\"}`,
		"password in YAML":       "auth:\n  password: secretWord1\n",
		"password in INI":        "[Global]\npassword=secretword\napplication-credential-secret = \"secretword\"\n",
		"variable":               "OS_PASSWORD=secretword FOO=1",
		"argument":               "run --admin-password secretword --x",
		"argument, equals":       "run --password=secretword",
		"cloud-config in base64": base64.StdEncoding.EncodeToString([]byte("#cloud-config\nwrite_files: [{content: secretsecretsecretsecret}]")),
		"certificate key":        "--certificate-key " + strings.Repeat("5ec4e7", 11),
		"password with a slash":  "password=SecretWord/9x",
		"the same in JSON":       `{"password": "SecretWord/9x"}`,
		"the same in quotes":     `msg="login" password="SecretWord/9x"`,
		"token of GitHub":        "ghp_secretsecretsecretsecret",
	} {
		clean := string((&Known{}).Scrub([]byte(text)))
		if strings.Contains(strings.ToLower(clean), "secretw") || strings.Contains(clean, "secretsecret") || strings.Contains(clean, "secret word") || strings.Contains(clean, "5ec4e7") || strings.Contains(clean, "secretse") || !strings.Contains(clean, Mark) {
			t.Errorf("%s: %s\n  became %s", name, text, clean)
		}
	}
}

// TestWhatIsNoSecretStays, because an archive without words finds no cause.
func TestWhatIsNoSecretStays(t *testing.T) {
	t.Parallel()
	k := &Known{}
	k.Add("hunter22")
	for _, text := range []string{
		"reconciling Secret prod/shop-cloud-credentials: not found",
		`secretName: shop-tls`, "{\n \"dataSecretName\": \"shop-w1-abcde\",\n \"secretRef\": {\n  \"name\": \"values\"\n }\n}\n",
		"token of secret: prod/shop-cloud-credentials.", `{
 "secret": "prod/shop-cloud-credentials"
}
`,
		"token expired", "the token is invalid", `"Failed to watch" err="unauthorized: invalid token"`,
		"quay.io/calico/node@sha256:2b36b7e5ac5d5ee8d1a4e5f3bd2b0a0fd4ee30ddfdc4e6bd9c0e6bf3d1f0a7c5",
		"server 5a1f9c1d-7d0c-4bd2-bd3f-5f2f1d0a7c11 is ERROR: No valid host was found.",
		"x509: certificate signed by unknown authority", "https://keystone.example:5000/v3/auth/tokens",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
	} {
		if clean := string(k.Scrub([]byte(text))); clean != text {
			t.Errorf("%s\n  became %s", text, clean)
		}
	}
}

const planted = `
- {apiVersion: v1, kind: Secret, metadata: {name: a, managedFields: [{x: SECRET}], annotations: {kubectl.kubernetes.io/last-applied-configuration: SECRET}}, data: {password: U0VDUkVU}, stringData: {k: SECRET}}
- {kind: ConfigMap, data: {cloud.conf: "x = SECRET", settings: SECRET}}
- {kind: KubeadmControlPlane, spec: {kubeadmConfigSpec: {files: [{path: /etc/x, content: SECRET}], preKubeadmCommands: ["echo SECRET"], users: [{name: u, passwd: SECRET}]}}}
- {kind: KubeadmConfig, spec: {files: [{path: /etc/x, content: SECRET}], postKubeadmCommands: [SECRET], joinConfiguration: {discovery: {bootstrapToken: {token: SECRET}}}}}
- {kind: Pod, spec: {containers: [{env: [{name: OS_PASSWORD, value: SECRET}, {name: PORT, value: "80"}]}]}}
- {kind: HelmRelease, spec: {valuesSources: [{template: "x: SECRET"}, {secret: {name: keep-me, key: values}}]}}
- {kind: Manifests, spec: {manifestSources: [{template: SECRET}]}}
- {kind: Thing, spec: {kubeconfig: SECRET, clientSecret: SECRET, auth: {password: SECRET}, secretRef: {name: keep-me}, secretName: keep-me, clouds.yaml: SECRET, userData: SECRET}}
- {kind: List, items: [{kind: Pod, spec: {containers: [{env: [{name: API_TOKEN, value: SECRET}]}]}}]}
`

// TestObjectsLoseWhatHoldsSecrets by their structure, and keep names and sizes.
func TestObjectsLoseWhatHoldsSecrets(t *testing.T) {
	t.Parallel()
	var all []map[string]any
	if err := yaml.Unmarshal([]byte(planted), &all); err != nil {
		t.Fatal(err)
	}
	whole := ""
	for _, o := range all {
		text, err := json.Marshal(Object(o))
		if err != nil || strings.Contains(string(text), "SECRET") || strings.Contains(string(text), "U0VDUkVU") {
			t.Errorf("%v: %s", err, text)
		}
		whole += string(text)
	}
	for _, want := range []string{`"password":"[removed: 6 bytes]"`, `"cloud.conf":"[removed: 10 bytes]"`, `"path":"/etc/x"`, `"name":"PORT","value":"80"`, `{"name":"keep-me"}`, `"secretName":"keep-me"`, `"key":"values","name":"keep-me"`} {
		if !strings.Contains(whole, want) {
			t.Errorf("%s is gone: %s", want, whole)
		}
	}
	if before, _ := json.Marshal(all); strings.Count(string(before), "SECRET") < 15 {
		t.Error("the objects themselves were changed")
	}
}

func TestValuesOfASecret(t *testing.T) {
	t.Parallel()
	encode := func(s string) any { return base64.StdEncoding.EncodeToString([]byte(s)) }
	got := fmt.Sprint(Values(map[string]any{
		"clouds.yaml":       encode("clouds: {openstack: {region_name: RegionOne, auth: {application_credential_id: abc, application_credential_secret: s3cr3t-1}}}"),
		"value":             encode("kind: Config\nusers: [{name: admin, user: {token: s3cr3t-2, client-key-data: " + fmt.Sprint(encode("s3cr3t-3")) + "}}]"),
		"password":          encode("plain-words"),
		"cloud.conf":        encode("[Global]\nregion=RegionOne\npassword=\"s3cr3t-4\"\n"),
		".dockerconfigjson": encode(`{"auths": {"quay.io": {"auth": "` + fmt.Sprint(encode("user:s3cr3t-5")) + `"}}}`),
		"namespace":         encode("kube-system"), "ca.crt": encode("-----BEGIN CERTIFICATE-----"), "other": encode("kube-system"),
		"thing": encode("X9-opaque-Y"), "settings": encode("replicas: 3\n"),
	}))
	for _, want := range []string{"s3cr3t-1", "s3cr3t-2", "s3cr3t-3", "s3cr3t-4", "s3cr3t-5", "plain-words", "X9-opaque-Y"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	for _, no := range []string{"RegionOne", "kube-system", "CERTIFICATE", "replicas", "admin"} {
		if strings.Contains(got, no) {
			t.Errorf("%s is taken for a secret: %s", no, got)
		}
	}
}

// TestJSONStaysJSON, with a key that is cut off in one text and a number beside a name.
func TestJSONStaysJSON(t *testing.T) {
	t.Parallel()
	text := `{"a": "-----BEGIN PRIVATE KEY-----\nMIIEsecretsecret", "b": [1, 2.50, {"tokenTotal": 123456789, "password": "hunter2"}], "big": 9007199254740993, "c": "<&>"}`
	clean := (&Known{}).Scrub([]byte(text))
	var got map[string]any
	if err := json.Unmarshal(clean, &got); err != nil || got["a"] != Mark || got["c"] != "<&>" || strings.Contains(string(clean), "hunter2") || !strings.Contains(string(clean), "9007199254740993") {
		t.Errorf("%v: %s", err, clean)
	}
}
