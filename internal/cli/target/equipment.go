package target

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/slipway-sh/slipway/addons/magnum/policy"
	"github.com/slipway-sh/slipway/images/template"
	"github.com/slipway-sh/slipway/internal/bundle"
	"github.com/slipway-sh/slipway/internal/component"
	"github.com/slipway-sh/slipway/internal/config"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/localseed"
	"github.com/slipway-sh/slipway/stacks"
	"github.com/slipway-sh/slipway/stacks/kubernetes"
	"github.com/slipway-sh/slipway/stacks/payload"
	"github.com/slipway-sh/slipway/stacks/seed"
)

// equipment reads what goes onto the seed from the files that the environment
// names. bring says that the seed's image is not the bundle's.
func (t *Target) equipment(projectID string, bring bool) (stacks.Equipment, error) {
	spec := t.Environment.Spec
	folder, err := bundle.Open(string(spec.Bundle))
	if err != nil {
		return stacks.Equipment{}, err
	}
	bill := folder.Bill()
	k3s := bill.Item("k3s")
	if k3s == nil && !spec.Seed.IsLocal() {
		return stacks.Equipment{}, fault.New("bundle "+string(spec.Bundle), errors.New("it contains no k3s"), "run slipway bundle build --dir "+string(spec.Bundle))
	}
	e := stacks.Equipment{Versions: component.VersionsIn(bill), Registries: map[string]seed.Registry{}}
	if k3s != nil {
		e.K3sDigest = k3s.SHA256
	}
	if bring {
		brings, err := payload.Of(folder)
		if err != nil {
			return e, err
		}
		e.Payload = brings.ID()
	}
	if text, err := read(spec.CABundle); err != nil {
		return e, err
	} else if text != "" {
		e.Authorities = []string{text}
	}
	if spec.Seed.SSH.KeyPair != "" {
		if spec.Seed.SSH.IdentityFile == "" {
			return e, fault.Usage("spec.seed.ssh.identityFile", errors.New("it is required if you name your own key pair: the seed is set up over SSH"),
				"name the file of the private key, or leave out keyPair to have one created")
		}
		if e.PrivateKey, err = read(spec.Seed.SSH.IdentityFile); err != nil {
			return e, err
		}
	}
	if own := bill.Item(component.SlipwayImage); own != nil {
		e.ControllersImage = own.Ref
	}
	e.Cloud = t.login(projectID, e.Authorities)
	if spec.Seed.IsLocal() {
		e.Local = localseed.Settings{Name: localseed.Name(t.Name()), Owner: localseed.Owner(t.Name(), t.Cloud.Provider.IdentityEndpoint, projectID), Image: spec.Seed.Image}
		if own := bill.Item(component.KindNode); own != nil && e.Local.Image == "" {
			e.Local.Image = own.Ref
		}
	}
	if m := spec.ManagementCluster; m != nil {
		if e.Chart, err = kubernetes.ChartID(m.Chart); err != nil {
			return e, err
		}
	}
	if e.Magnum, e.Console, err = serviceFiles(spec.Magnum, spec.Console); err != nil {
		return e, err
	}
	if b := spec.Backup; b != nil && b.Schedule != nil {
		if e.Backup, err = scheduled(t.Loaded, strings.Join(e.Authorities, "\n")); err != nil {
			return e, err
		}
	}
	if err := errors.Join(t.velero(bill, &e), t.monitoring(bill, &e)); err != nil {
		return e, err
	}
	for host, r := range spec.Registries {
		if e.Registries[host], err = registry(r); err != nil {
			return e, err
		}
	}
	return e, nil
}

// login is the login of clusters: like ours, but with the environment's own
// application credential.
func (t *Target) login(projectID string, authorities []string) stacks.Cloud {
	return stacks.Cloud{AuthURL: t.Cloud.Provider.IdentityEndpoint, Region: region(t.Cloud), Interface: string(t.Cloud.Endpoint.Availability),
		ProjectID: projectID, Insecure: t.Cloud.Insecure, Authority: strings.Join(authorities, "\n")}
}

// serviceFiles reads the files of spec.magnum and spec.console, either of which may be nil,
// and reports all mistakes in them.
func serviceFiles(m *config.Magnum, c *config.Console) (api stacks.MagnumFiles, console stacks.ConsoleFiles, err error) {
	var wrong [2]error
	if m != nil {
		api, wrong[0] = magnumFiles(m)
	}
	if c != nil && c.TLS != nil {
		console.Certificate, console.Key, wrong[1] = certificate("spec.console.tls", c.TLS)
	}
	return api, console, errors.Join(wrong[:]...)
}

// magnumFiles reads the files of spec.magnum and reports all mistakes in them.
func magnumFiles(m *config.Magnum) (stacks.MagnumFiles, error) {
	var files stacks.MagnumFiles
	var wrong [4]error
	files.Policy, wrong[0] = rules(m.PolicyFile)
	files.Templates, wrong[1] = templates(m.TemplatesFile)
	if m.TLS != nil {
		files.Certificate, files.Key, wrong[2] = certificate("spec.magnum.tls", m.TLS)
	}
	files.Authorities, wrong[3] = authorities(m.ManagementClusters)
	return files, errors.Join(wrong[:]...)
}

// authorities reads the CA certificates of other management clusters' APIs.
func authorities(of []config.OtherManagementCluster) (string, error) {
	var all []string
	var wrong []error
	for _, other := range of {
		if other.CAFile == "" {
			continue
		}
		text, err := read(other.CAFile)
		if err == nil && !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
			err = fault.Usage("spec.magnum.managementClusters: "+string(other.CAFile), errors.New("it has no certificate"), "give a PEM file of CA certificates")
		}
		all, wrong = append(all, text), append(wrong, err)
	}
	return pems(all...), errors.Join(wrong...)
}

// rules reads an oslo.policy file.
func rules(path config.File) (string, error) {
	text, err := read(path)
	if err != nil {
		return "", err
	}
	if _, err := policy.New([]byte(text)); err != nil {
		return "", fault.Usage("spec.magnum.policyFile: "+string(path), err, "correct the rule; docs/guides/magnum.md lists the names and defaults")
	}
	return text, nil
}

// certificate reads a certificate and the key that must go with it.
func certificate(at string, pair *config.KeyPair) (certificate, key string, err error) {
	certificate, noCertificate := read(pair.CertificateFile)
	key, noKey := read(pair.KeyFile)
	if err := errors.Join(noCertificate, noKey); err != nil {
		return "", "", err
	}
	if _, err := tls.X509KeyPair([]byte(certificate), []byte(key)); err != nil {
		return "", "", fault.Usage(at, err, "give a certificate and its key, both in PEM")
	}
	return certificate, key, nil
}

// templates reads a file of cluster templates; nil means none.
func templates(path config.File) (*template.File, error) {
	if path == "" {
		return nil, nil
	}
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return template.Parse(config.Source{Name: string(path), Text: []byte(text)})
}

func registry(r config.Registry) (seed.Registry, error) {
	out := seed.Registry{Mirrors: r.Mirrors, Rewrite: r.Rewrite, Username: r.Username}
	var err error
	if out.Authority, err = read(r.CAFile); err != nil {
		return out, err
	}
	out.Password, err = read(r.PasswordFile)
	out.Password = strings.TrimRight(out.Password, "\r\n")
	return out, err
}

// pems is one text of several with certificates, which may be empty. Readers do not find one in a
// line that another leaves open.
func pems(parts ...string) string {
	all := ""
	for _, part := range parts {
		if all != "" && part != "" && !strings.HasSuffix(all, "\n") {
			all += "\n"
		}
		all += part
	}
	return all
}

// read returns the content of a file that the environment may name.
func read(path config.File) (string, error) {
	if path == "" {
		return "", nil
	}
	text, err := os.ReadFile(string(path))
	if err != nil {
		return "", fault.Usage(string(path), fmt.Errorf("reading: %w", err), "check the path in the environment file")
	}
	return string(text), nil
}
