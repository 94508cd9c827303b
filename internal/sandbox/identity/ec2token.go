package identity

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what version 2 of the signature is made of
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/ec2tokens"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// signed is a request that was signed with an EC2 key, as the service that received it passes it
// on.
type signed struct {
	Access    string            `json:"access"`
	Signature string            `json:"signature"`
	Host      string            `json:"host"`
	Verb      string            `json:"verb"`
	Path      string            `json:"path"`
	Params    map[string]string `json:"params"`
	Headers   map[string]string `json:"headers"`
	BodyHash  string            `json:"body_hash"`
	// Token is the string that was signed, in base64; only S3 sends it.
	Token string `json:"token"`
}

// ec2Token issues a token for a request that was signed with an EC2 key.
func (k *Keystone) ec2Token(c *api.Call) error {
	return k.tokenFor(c, func(in signed, secret string) bool {
		if in.Params["SignatureVersion"] == "2" {
			return verifyV2(in, secret)
		}
		date, scope, headers, ok := parseV4(in)
		if !ok || len(scope) != 5 {
			return false
		}
		options := ec2tokens.AuthOptions{Verb: in.Verb, Path: in.Path, Params: in.Params, Headers: in.Headers,
			Region: scope[2], Service: scope[3]}
		text := ec2tokens.EC2CredentialsBuildStringToSignV4(options, headers, in.BodyHash, date)
		key := ec2tokens.EC2CredentialsBuildSignatureKeyV4(secret, scope[2], scope[3], date)
		return same(ec2tokens.EC2CredentialsBuildSignatureV4(key, text), in.Signature)
	})
}

// s3Token does the same for S3, which sends the string that was signed.
func (k *Keystone) s3Token(c *api.Call) error {
	return k.tokenFor(c, func(in signed, secret string) bool {
		text, err := base64.StdEncoding.DecodeString(in.Token)
		if err != nil {
			return false
		}
		lines := strings.Split(string(text), "\n")
		if len(lines) < 3 || lines[0] != ec2tokens.EC2CredentialsAwsHmacV4 {
			mac := hmac.New(sha1.New, []byte(secret))
			mac.Write(text)
			return same(base64.StdEncoding.EncodeToString(mac.Sum(nil)), in.Signature)
		}
		scope := strings.Split(lines[2], "/")
		date, err := time.Parse(ec2tokens.EC2CredentialsTimestampFormatV4, lines[1])
		if err != nil || len(scope) != 4 {
			return false
		}
		key := ec2tokens.EC2CredentialsBuildSignatureKeyV4(secret, scope[1], scope[2], date)
		return same(ec2tokens.EC2CredentialsBuildSignatureV4(key, text), in.Signature)
	})
}

// tokenFor checks a signature and issues a token on the key's project.
func (k *Keystone) tokenFor(c *api.Call, verify func(in signed, secret string) bool) error {
	if !c.Principal.Admin() && !c.Principal.Has("service") {
		return denied()
	}
	var in signed
	if err := c.DecodeIn("credentials", &in); err != nil {
		return err
	}
	return c.Update(func(tx *store.Tx) error {
		cred, ok := k.model.CredentialsByAccess.First(tx, in.Access)
		if !ok || in.Access == "" {
			return api.NotFound("EC2 access key not found.")
		}
		pair, err := k.pair(cred)
		if err != nil {
			return err
		}
		if !verify(in, pair.Secret) {
			return api.Unauthorized()
		}
		l := login{token: model.Token{Methods: []string{"ec2credential"}, UserID: cred.UserID, ProjectID: cred.ProjectID, AccessKey: cred.Access}}
		k.stamp(&l)
		return k.issue(c, tx, l, http.StatusOK)
	})
}

func verifyV2(in signed, secret string) bool {
	text := ec2tokens.EC2CredentialsBuildStringToSignV2(ec2tokens.AuthOptions{Verb: in.Verb, Host: in.Host, Path: in.Path, Params: in.Params})
	mac := hmac.New(sha256.New, []byte(secret))
	if in.Params["SignatureMethod"] == ec2tokens.EC2CredentialsHmacSha1V2 {
		mac = hmac.New(sha1.New, []byte(secret))
	}
	mac.Write(text)
	return same(base64.StdEncoding.EncodeToString(mac.Sum(nil)), in.Signature) ||
		same(hex.EncodeToString(mac.Sum(nil)), in.Signature)
}

// parseV4 reads the date, the scope (access key, day, region, service, end) and the names of the
// signed headers from the header Authorization.
func parseV4(in signed) (date time.Time, scope []string, headers string, ok bool) {
	lower := map[string]string{}
	for name, value := range in.Headers {
		lower[strings.ToLower(name)] = value
	}
	date, err := time.Parse(ec2tokens.EC2CredentialsTimestampFormatV4, lower["x-amz-date"])
	if err != nil {
		return date, nil, "", false
	}
	_, fields, _ := strings.Cut(lower["authorization"], " ")
	for _, field := range strings.Split(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Credential":
			scope = strings.Split(value, "/")
		case "SignedHeaders":
			headers = value
		}
	}
	return date, scope, headers, true
}

func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
