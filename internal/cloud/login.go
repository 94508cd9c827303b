package cloud

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"sigs.k8s.io/yaml"

	"github.com/slipway-sh/slipway/internal/fault"
)

// Options name the cloud to open.
type Options struct {
	// Cloud and Region override the process environment. If empty: OS_CLOUD, else
	// the only cloud of clouds.yaml; and the entry's region.
	Cloud, Region string
	Env           Env
	// CABundle holds additional trusted certificates in PEM.
	CABundle []byte
	// UserAgent precedes gophercloud's, such as "slipway/v1.2.3".
	UserAgent string
	// CloudsYAML, if set, is the content of the clouds.yaml to use instead of files.
	CloudsYAML []byte
	// Wrap, if set, is put around the transport of all calls.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Login holds everything that is needed to log in to one cloud. It contains secrets.
type Login struct {
	// Name is the entry of clouds.yaml.
	Name string
	// Insecure reports whether the entry turns off certificate verification.
	Insecure bool
	// CloudsYAML is a clouds.yaml with this entry alone, including secrets and
	// profile, for another process of ours; never write it to a plain file.
	CloudsYAML []byte

	auth     gophercloud.AuthOptions
	endpoint gophercloud.EndpointOpts
	tls      *tls.Config
	wrap     func(http.RoundTripper) http.RoundTripper
}

// Region is the requested region, else that of the entry; it may be empty.
func (l *Login) Region() string { return l.endpoint.Region }

// AuthURL is Keystone's URL.
func (l *Login) AuthURL() string { return l.auth.IdentityEndpoint }

// HTTP returns a client that trusts the entry's certificates.
func (l *Login) HTTP() http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = l.tls.Clone()
	transport.MaxIdleConnsPerHost = parallelCalls
	return http.Client{Transport: transport}
}

// Find finds the cloud in clouds.yaml by openstacksdk's rules: its order of files,
// secure.yaml on top, profiles of clouds-public.yaml below, OS_CLOUD, else the only
// cloud. gophercloud then reads the entry; settings that it does not know are
// converted for it.
func Find(o Options) (*Login, error) {
	all, err := o.source()
	if err != nil {
		return nil, err
	}
	wanted := o.Cloud
	if wanted == "" {
		wanted = o.Env.Cloud
	}
	name, err := all.choose(wanted)
	if err != nil {
		return nil, err
	}
	entry, err := all.entry(name)
	if err != nil {
		return nil, err
	}
	normalize(entry)
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{name: entry}})
	if err != nil {
		return nil, fmt.Errorf("writing the entry of cloud %s: %w", name, err)
	}
	l := &Login{Name: name, CloudsYAML: text}
	if err := l.parse(o, entry); err != nil {
		return nil, fault.Usage(all.path+": cloud "+name, err, "compare the entry with the clouds.yaml from your cloud's dashboard")
	}
	return l, nil
}

func (o Options) source() (entries, error) {
	if o.CloudsYAML == nil {
		return o.Env.read()
	}
	document, err := parseYAML("clouds.yaml", o.CloudsYAML)
	if err != nil {
		return entries{}, err
	}
	all := entries{path: "clouds.yaml"}
	all.clouds, _ = document["clouds"].(map[string]any)
	return all, nil
}

// normalize converts settings of openstacksdk that gophercloud does not know:
// `insecure`, and the first of several regions.
func normalize(entry map[string]any) {
	verify, given := entry["verify"].(string)
	if insecure, ok := entry["insecure"].(string); ok && !given {
		verify, given = strconv.FormatBool(!yes(insecure)), true
	}
	if given {
		entry["verify"] = yes(verify)
	}
	delete(entry, "insecure")
	regions, _ := entry["regions"].([]any)
	delete(entry, "regions")
	if len(regions) == 0 || entry["region_name"] != nil {
		return
	}
	switch first := regions[0].(type) {
	case string:
		entry["region_name"] = first
	case map[string]any:
		entry["region_name"] = first["name"]
		values, _ := first["values"].(map[string]any)
		for key, value := range overlay(entry, values) {
			entry[key] = value
		}
	}
}

// yes reads a boolean as openstacksdk's YAML does.
func yes(text string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(text))
}

func (l *Login) parse(o Options, entry map[string]any) error {
	options := []clouds.ParseOption{clouds.WithCloudName(l.Name), clouds.WithCloudsYAML(bytes.NewReader(l.CloudsYAML))}
	for _, region := range []string{o.Env.Region, o.Region} {
		if region != "" {
			options = append(options, clouds.WithRegion(region))
		}
	}
	if o.Env.Interface != "" {
		options = append(options, clouds.WithEndpointType(o.Env.Interface))
	}
	auth, _ := entry["auth"].(map[string]any)
	if text(auth, "auth_url") == "" {
		return errors.New("the entry has no auth.auth_url")
	}
	var err error
	if l.auth, l.endpoint, l.tls, err = clouds.Parse(options...); err != nil {
		return err
	}
	l.auth.AllowReauth = true // work outlasts tokens
	scope(&l.auth, auth)
	l.Insecure = l.tls.InsecureSkipVerify
	l.tls.MinVersion = tls.VersionTLS12
	return trust(l.tls, o.CABundle)
}

// scope corrects gophercloud's handling of domains: it uses one domain for user and
// project, which is wrong if they differ, and it keeps names beside an application
// credential, which Keystone refuses.
func scope(o *gophercloud.AuthOptions, auth map[string]any) {
	if o.ApplicationCredentialID != "" {
		*o = gophercloud.AuthOptions{IdentityEndpoint: o.IdentityEndpoint, ApplicationCredentialID: o.ApplicationCredentialID,
			ApplicationCredentialSecret: o.ApplicationCredentialSecret, AllowReauth: true}
		return
	}
	o.DomainID, o.DomainName = domain(auth, "user_domain", "domain", "project_domain")
	if o.UserID != "" {
		o.DomainID, o.DomainName = "", ""
	}
	if o.Scope != nil || o.ApplicationCredentialName != "" {
		return
	}
	switch id, name := domain(auth, "project_domain", "domain", "user_domain"); {
	case text(auth, "system_scope") != "":
		o.Scope = &gophercloud.AuthScope{System: true}
	case o.TenantID != "":
		o.Scope = &gophercloud.AuthScope{ProjectID: o.TenantID}
	case o.TenantName != "":
		o.Scope = &gophercloud.AuthScope{ProjectName: o.TenantName, DomainID: id, DomainName: name}
	}
	o.TenantID, o.TenantName = "", ""
}

// domain returns the first domain that is set, by ID or else by name.
func domain(auth map[string]any, prefixes ...string) (id, name string) {
	for _, prefix := range prefixes {
		if id := text(auth, prefix+"_id"); id != "" {
			return id, ""
		}
		if name := text(auth, prefix+"_name"); name != "" {
			return "", name
		}
	}
	return "", ""
}

func text(m map[string]any, key string) string {
	value, _ := m[key].(string)
	return value
}

// trust adds certificates to the trusted ones.
func trust(config *tls.Config, pem []byte) error {
	if len(pem) == 0 {
		return nil
	}
	if config.RootCAs == nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		config.RootCAs = pool
	}
	if !config.RootCAs.AppendCertsFromPEM(pem) {
		return errors.New("the CA bundle contains no certificate")
	}
	return nil
}
