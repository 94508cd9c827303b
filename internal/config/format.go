package config

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/rhythm"
	"github.com/slipway-sh/slipway/internal/stateurl"
)

// format checks a value against its field's format.
func (v *validator) format(value reflect.Value, at *field.Path, r rules) {
	switch x := value.Interface().(type) {
	case netip.Prefix:
		if x.IsValid() && x.Masked() != x {
			v.add(at, "write "+x.Masked().String(), "%s is an address in a range, not the range", x)
		}
		return
	case netip.Addr:
		return
	case Duration:
		if x < 0 {
			v.add(at, "remove the minus sign", "a duration must not be negative")
		}
		return
	}
	check, ok := formats()[r.format]
	if !ok {
		return
	}
	if cause, remedy := check(value.String()); cause != "" {
		v.add(at, remedy, "%s", cause)
	}
}

// formats are the checks of text; each returns a cause and a remedy, or nothing.
func formats() map[string]func(text string) (cause, remedy string) {
	return map[string]func(string) (string, string){
		"label": checkLabel, "tag": checkTag, "variable": checkVariable, "httpURL": checkHTTP, "backend": checkBackend, "path": checkPath, "sshKey": checkSSHKey,
		"version": checkVersion, "hostname": checkHostname, "target": checkTarget, "recipient": checkRecipient, "signer": checkSigner, "cron": checkCron,
		"mail": checkMail, "identifier": checkIdentifier, "hostPort": checkHostPort,
	}
}

func checkLabel(text string) (cause, remedy string) {
	if len(validation.IsDNS1123Label(text)) > 0 {
		return fmt.Sprintf("%q is not a lower-case RFC 1123 label", text), "use a to z, 0 to 9 and -, with a letter or digit at both ends"
	}
	return "", ""
}

func checkTarget(text string) (cause, remedy string) {
	if _, err := location.Parse(text); err != nil {
		return fmt.Sprintf("%q: %v", text, err), "write file://./backups, swift://container/prefix or s3://bucket/prefix?endpoint=https://…"
	}
	return "", ""
}

func checkRecipient(text string) (cause, remedy string) {
	switch _, err := age.ParseX25519Recipient(text); {
	case strings.HasPrefix(text, "AGE-SECRET-KEY-"):
		return "this is a private key", "write the public key, age1…, and make a new pair: this one is in a file now"
	case err != nil:
		return fmt.Sprintf("%q is not a public key of age", text), "write the line that age-keygen prints: age1…"
	}
	return "", ""
}

func checkSigner(text string) (cause, remedy string) {
	if !regexp.MustCompile(patterns()["signer"]).MatchString(text) {
		return fmt.Sprintf("%q is not a signer", text), "write it as slipway backup list -o json prints it: ed25519:…"
	}
	return "", ""
}

// checkIdentifier checks an ID of Keystone's federation.
func checkIdentifier(text string) (cause, remedy string) {
	if !regexp.MustCompile(patterns()["identifier"]).MatchString(text) {
		return fmt.Sprintf("%q is not an ID of Keystone", text), "write it as openstack federation protocol list prints it: letters, digits, dots, dashes and underscores"
	}
	return "", ""
}

func checkCron(text string) (cause, remedy string) {
	if _, err := rhythm.Cron(text); err != nil {
		return fmt.Sprintf("%q is not a cron expression: %v", text, err), "write five fields, minute, hour, day, month and weekday, in UTC, such as 30 2 * * *; or a name such as @daily"
	}
	return "", ""
}

func checkHostname(text string) (cause, remedy string) {
	if len(validation.IsDNS1123Subdomain(text)) > 0 {
		return fmt.Sprintf("%q is not a host name", text), "write a name such as magnum.cloud.example, without https:// and port"
	}
	return "", ""
}

// checkTag checks Nova's rules for tags, the strictest of all services: at most 60
// characters, no comma and no slash.
func checkTag(text string) (cause, remedy string) {
	switch {
	case len(text) > 60 || strings.ContainsAny(text, ",/"):
		return fmt.Sprintf("%q is not a tag that all services accept", text), "use at most 60 characters without commas and slashes"
	case strings.HasPrefix(text, "slipway"):
		return fmt.Sprintf("%q begins like Slipway's own tags", text), "choose another tag"
	}
	return "", ""
}

func checkVariable(text string) (cause, remedy string) {
	if !regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(text) {
		return fmt.Sprintf("%q is not the name of an environment variable", text), "write the name without $"
	}
	return "", ""
}

func checkHTTP(text string) (cause, remedy string) {
	u, err := url.Parse(text)
	if err != nil {
		return "this is not a URL", "write one such as http://proxy.example.org:3128"
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return fmt.Sprintf("%q is not an http or https URL", u.Redacted()), "write one such as http://proxy.example.org:3128"
	}
	if _, secret := u.User.Password(); secret {
		return "the URL contains a password, which does not belong in this file", "use a URL that needs no password"
	}
	return "", ""
}

func checkBackend(text string) (cause, remedy string) {
	u, err := url.Parse(text)
	remedy = "write file://./.slipway, s3://bucket/prefix or https://HOST/PATH"
	switch {
	case stateurl.IsHTTP(text):
		return stateurl.CheckHTTP(text)
	case err != nil:
		return "this is not a URL", remedy
	case u.User != nil:
		return "the URL contains a login, which does not belong in this file", "set the environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case u.Scheme == "file" && u.Host+u.Path != "":
		return "", ""
	case u.Scheme == "s3" && u.Host != "":
		return "", ""
	}
	return fmt.Sprintf("%q is not the URL of a supported storage", text), remedy
}

func checkPath(text string) (cause, remedy string) {
	if !strings.HasPrefix(text, "/") {
		return fmt.Sprintf("%q is not a path", text), "begin it with /"
	}
	return "", ""
}

func checkSSHKey(text string) (cause, remedy string) {
	if _, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text)); err != nil {
		return "this is not an SSH public key", "write a line such as `ssh-ed25519 AAAA… name`"
	}
	return "", ""
}

func checkVersion(text string) (cause, remedy string) {
	if !regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).MatchString(text) {
		return fmt.Sprintf("%q is not a Kubernetes version", text), "write one such as v1.34.4"
	}
	return "", ""
}

// readTrust reads the CA bundle and checks that it contains only certificates.
func readTrust(e *Environment) ([]byte, []Problem) {
	if e.Spec.CABundle == "" {
		return nil, nil
	}
	text, err := os.ReadFile(string(e.Spec.CABundle))
	if err == nil {
		err = checkCertificates(text)
	}
	if err != nil {
		return nil, []Problem{{Path: "spec.caBundle", Cause: err.Error(), Remedy: "name a PEM file with certificates"}}
	}
	return text, nil
}

func checkCertificates(text []byte) error {
	count := 0
	for {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("the file contains a block %q, which is not a certificate", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate %d of the file: %w", count+1, err)
		}
		count++
	}
	if count == 0 {
		return errors.New("the file contains no PEM certificate")
	}
	return nil
}
