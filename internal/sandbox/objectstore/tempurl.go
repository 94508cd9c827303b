package objectstore

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what clients of temporary URLs use by default
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-sh/slipway/internal/sandbox/api"
	"github.com/slipway-sh/slipway/internal/sandbox/model"
	"github.com/slipway-sh/slipway/internal/sandbox/store"
)

// signed reports whether the address itself gives the right to the call: a
// signature of method, time and path with a key of the account or container.
func (s *service) signed(c *api.Call, r store.Reader, p place, b model.Bucket) bool {
	query := c.Request.URL.Query()
	signature, expires := query.Get("temp_url_sig"), query.Get("temp_url_expires")
	until, ok := expiry(expires)
	if signature == "" || !ok || until.Before(s.env.Timing.Now()) {
		return false
	}
	make, want := digest(signature)
	if make == nil {
		return false
	}
	account, _ := s.model.Accounts.Get(r, p.project)
	for _, key := range []string{b.Meta["Temp-Url-Key"], b.Meta["Temp-Url-Key-2"], account.Meta["Temp-Url-Key"], account.Meta["Temp-Url-Key-2"]} {
		if key == "" {
			continue
		}
		for _, text := range signedTexts(c, p, expires, until) {
			mac := hmac.New(make, []byte(key))
			mac.Write([]byte(text))
			if hmac.Equal(mac.Sum(nil), want) {
				return true
			}
		}
	}
	return false
}

// signedTexts are what may have been signed: who may PUT or POST may HEAD, and
// clients differ in whether they sign the path encoded.
func signedTexts(c *api.Call, p place, expires string, until time.Time) []string {
	methods := []string{c.Request.Method}
	if c.Request.Method == http.MethodHead {
		methods = append(methods, http.MethodGet, http.MethodPut, http.MethodPost)
	}
	base := "/v1/" + accountPrefix + p.project + "/"
	paths := []string{base + p.container + "/" + p.object, strings.TrimPrefix(c.Request.URL.EscapedPath(), prefix)}
	if begin, ok := c.Request.URL.Query()["temp_url_prefix"]; ok {
		if !strings.HasPrefix(p.object, begin[0]) {
			return nil
		}
		paths = []string{"prefix:" + base + p.container + "/" + begin[0]}
	}
	var texts []string
	for _, method := range methods {
		for _, path := range paths {
			for _, at := range []string{expires, strconv.FormatInt(until.Unix(), 10)} {
				texts = append(texts, method+"\n"+at+"\n"+path)
			}
		}
	}
	return texts
}

// expiry reads seconds since 1970, or a time.
func expiry(text string) (time.Time, bool) {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// digest tells the algorithm of a signature, by its name or its length.
func digest(signature string) (func() hash.Hash, []byte) {
	if name, encoded, ok := strings.Cut(signature, ":"); ok {
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.NewReplacer("+", "-", "/", "_").Replace(encoded), "="))
		if err != nil {
			return nil, nil
		}
		return map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}[name], raw
	}
	raw, err := hex.DecodeString(signature)
	if err != nil {
		return nil, nil
	}
	return map[int]func() hash.Hash{sha1.Size: sha1.New, sha256.Size: sha256.New, sha512.Size: sha512.New}[len(raw)], raw
}

// signedHeaders makes browsers save what they get by a temporary address.
func (s *service) signedHeaders(c *api.Call, p place) {
	query := c.Request.URL.Query()
	if !query.Has("temp_url_sig") || c.Principal != nil {
		return
	}
	name := query.Get("filename")
	if name == "" {
		name = path.Base(p.object)
	}
	kind := "attachment"
	if query.Has("inline") {
		kind = "inline"
	}
	c.Writer.Header().Set("Content-Disposition", fmt.Sprintf("%s; filename=%s; filename*=UTF-8''%s", kind, strconv.QuoteToASCII(name), url.PathEscape(name)))
	if at, ok := expiry(query.Get("temp_url_expires")); ok {
		c.Writer.Header().Set("Expires", at.UTC().Format(http.TimeFormat))
	}
}
