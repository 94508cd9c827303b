package devstack_test

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-sh/slipway/addons/tacker/csar"
	"github.com/slipway-sh/slipway/addons/tacker/receiver"
)

// TestTackerOnADevcloud stacks twice on a devcloud with OpenStack's own Tacker. That logs in at
// the management cluster before it takes a VIM, with the token and the authority that it was
// given, and reads packages with its own parser. What it then has is asked of its API and of
// its database. unstack takes all of it back.
//
// proves: D-25
func TestTackerOnADevcloud(t *testing.T) {
	dir := os.Getenv("SLIPWAY_DEVCLOUD_TACKER")
	if dir == "" || os.Getenv("SLIPWAY_BUNDLE") == "" || os.Getenv("SLIPWAY_SOL001") == "" {
		t.Skip("SLIPWAY_DEVCLOUD_TACKER names no devcloud, SLIPWAY_BUNDLE no bundle, or SLIPWAY_SOL001 no definitions: run make devcloud-tacker")
	}
	d := onCloudOf(t, dir)
	d.enter(d.onDevcloud(), "enable_service tacker", "SLIPWAY_TACKER=True", "SLIPWAY_TACKER_TYPES="+os.Getenv("SLIPWAY_SOL001"))
	d.ownCluster()
	k := d.tacker()
	stack := []string{"stack pre-install", "stack install", "stack post-config", "stack extra"}
	before := k.rows()
	d.phases(stack...)
	first := k.vim()
	packages := k.packages()
	k.holds(first["id"].(string))
	k.strangers()

	// Once more, with another token: the VIM is the same, with a new credential.
	d.must(os.Remove(d.path("stack/data/slipway/tacker-token")))
	d.phases(stack...)
	second := k.vim()
	if first["id"] != second["id"] || first["updated_at"] == second["updated_at"] {
		t.Errorf("the VIM was %v\nand is %v", first, second)
	}
	k.holds(second["id"].(string))
	if again := k.packages(); !maps.Equal(again, packages) {
		t.Errorf("packages %v became %v", packages, again)
	}

	d.phases("unstack")
	if left := k.vims(); len(left) > 0 {
		t.Errorf("unstack left VIMs %v", left)
	}
	if after := k.rows(); !slices.Equal(after, before) {
		t.Errorf("Tacker's tables had %v rows, and after unstack %v", before, after)
	}
	d.phases("clean")
}

// ownCluster has the host make a k3s, as newDevstackHost.
func (d *devstackHost) ownCluster() {
	d.kubeconfig, d.k3s = d.path("stack/data/slipway/kubeconfig"), d.path("stack/data/slipway/bin/k3s")
	d.adapted(d.path("stack/data/slipway"))
}

// realTacker is the devcloud's, for the user demo.
type realTacker struct {
	*devstackHost
	client *gophercloud.ServiceClient
}

func (d *devstackHost) tacker() realTacker {
	d.t.Helper()
	found, err := receiver.NewTacker(d.site.member.Provider, gophercloud.EndpointOpts{Region: "RegionOne"}, true)
	d.must(err)
	return realTacker{d, found.Client}
}

func (k realTacker) vims() []map[string]any {
	k.t.Helper()
	var list struct {
		VIMs []map[string]any `json:"vims"`
	}
	_, err := k.client.Get(k.t.Context(), k.client.ServiceURL("v1.0", "vims"), &list, nil)
	k.must(err)
	return list.VIMs
}

// vim is the only one. Its regions are the namespaces that Tacker saw on the cluster.
func (k realTacker) vim() map[string]any {
	k.t.Helper()
	list := k.vims()
	if len(list) != 1 {
		k.t.Fatalf("VIMs %v\n%s", list, k.logs())
	}
	v := list[0]
	regions := fmt.Sprint(v["placement_attr"])
	for _, namespace := range []string{"kube-system", "capi-system", "capo-system"} {
		if !strings.Contains(regions, namespace) {
			k.t.Errorf("Tacker did not see namespace %s: %s", namespace, regions)
		}
	}
	if v["name"] != "slipway-devstack" || v["type"] != "kubernetes" || v["auth_url"] != "https://"+k.site.host+":6443" || v["is_default"] != false || fmt.Sprint(v["extra"]) != "map[use_helm:true]" {
		k.t.Errorf("VIM %v", v)
	}
	return v
}

// unsealed decrypts what Tacker has of a VIM's credential, with the key that it keeps in Barbican.
const unsealed = `
import json, sys
from cryptography.fernet import Fernet
from keystoneauth1 import identity, session
from barbicanclient import client
from oslo_config import cfg
cfg.CONF.register_opts([cfg.StrOpt(n) for n in ("auth_url", "username", "password", "user_domain_name", "project_name", "project_domain_name")], "keystone_authtoken")
cfg.CONF(["--config-file", "/etc/tacker/tacker.conf"])
s = session.Session(auth=identity.Password(**{n: cfg.CONF.keystone_authtoken[n] for n in cfg.CONF.keystone_authtoken}))
auth = json.loads(sys.argv[1])
barbican = client.Client(session=s)
key = Fernet(barbican.secrets.get(barbican.secrets.list(limit=1)[0].secret_ref.rsplit("/", 1)[0] + "/" + auth["secret_uuid"]).payload)
for name in ("bearer_token", "ssl_ca_cert"):
    print(key.decrypt(auth[name].encode()).decode().strip())
`

// holds compares what Tacker has in its database with the plugin's token and the cluster's
// authority: neither is there for everybody to read.
func (k realTacker) holds(id string) {
	k.t.Helper()
	token, err := os.ReadFile(k.path("stack/data/slipway/tacker-token"))
	k.must(err)
	rows, err := k.cloud.Query(k.t.Context(), "tacker", "SELECT auth_cred FROM vimauths WHERE vim_id = '"+id+"'")
	k.must(err)
	if len(rows) != 1 || strings.Contains(rows[0], string(token)) || strings.Contains(rows[0], "CERTIFICATE") {
		k.t.Fatalf("credentials of the VIM: %q", rows)
	}
	cmd, err := k.cloud.Command(k.t.Context(), "python3", "-c", unsealed, strings.ReplaceAll(rows[0], `\\n`, `\n`))
	k.must(err)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		k.t.Fatalf("decrypting the credential: %v\n%s", err, said.String())
	}
	if want := strings.TrimSpace(string(token)) + "\n" + strings.TrimSpace(k.authority()) + "\n"; string(out) != want {
		k.t.Errorf("Tacker holds\n%s\nnot\n%s", out, want)
	}
}

// authority is that of the management cluster's certificate.
func (k realTacker) authority() string {
	k.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", k.kubeconfig)
	k.must(err)
	return string(config.CAData)
}

// strangers are refused by Tacker: a token that the cluster does not know, an authority that did
// not sign its certificate. So what it took is of use.
func (k realTacker) strangers() {
	k.t.Helper()
	token, err := os.ReadFile(k.path("stack/data/slipway/tacker-token"))
	k.must(err)
	registry := &receiver.Tacker{Client: k.client, Helm: true}
	good := receiver.VIM{Name: "stranger", Endpoint: "https://" + k.site.host + ":6443", BearerToken: string(token), Authority: k.authority()}
	unknown, unsigned := good, good
	unknown.BearerToken += "x"
	other, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	k.must(err)
	unsigned.Authority = regexp.MustCompile(`(?s)-----BEGIN.*?-----END CERTIFICATE-----\n`).FindString(string(other))
	for _, v := range []receiver.VIM{unknown, unsigned} {
		if err := registry.Register(k.t.Context(), v); err == nil {
			k.t.Errorf("Tacker took a VIM that it cannot use: %v", k.vims())
			k.must(registry.Remove(k.t.Context(), v.Name))
		}
	}
	if list := k.vims(); len(list) != 1 {
		k.t.Errorf("refused VIMs stay: %v", list)
	}
}

// packages are the vnfdIds with the digests of the whole packages, and of each file in them. The
// content that Tacker gives back has them, and is what Slipway makes.
func (k realTacker) packages() map[string]string {
	k.t.Helper()
	all := map[string]string{}
	var list []struct{ ID, VnfdID, VnfProductName, OnboardingState, OperationalState string }
	_, err := k.client.Get(k.t.Context(), k.client.ServiceURL("vnfpkgm", "v1", "vnf_packages"), &list, nil)
	k.must(err)
	var names []string
	for _, p := range list {
		if p.OnboardingState != "ONBOARDED" || p.OperationalState != "ENABLED" {
			k.t.Errorf("package %+v", p)
		}
		names = append(names, p.VnfProductName)
		content := k.content(p.ID)
		read, err := csar.Verify(content)
		k.must(err)
		if read.ID != p.VnfdID {
			k.t.Errorf("package %s has definitions of %s", p.VnfdID, read.ID)
		}
		all[p.VnfdID] = k.digests(p.ID, content)
	}
	if slices.Sort(names); !slices.Equal(names, []string{"capi-slipway-capi", "capi-workload-slipway-cluster"}) {
		k.t.Errorf("packages %v", names)
	}
	noted, err := os.ReadFile(k.path("stack/data/slipway/tacker-packages"))
	k.must(err)
	if ids := slices.Sorted(slices.Values(strings.Fields(string(noted)))); !slices.Equal(ids, slices.Sorted(maps.Keys(all))) {
		k.t.Errorf("noted are %q, Tacker has %v", noted, all)
	}
	return all
}

// digests compares those in Tacker with the content, and returns that of all of it.
func (k realTacker) digests(id string, content []byte) string {
	k.t.Helper()
	var shown struct {
		Checksum            struct{ Algorithm, Hash string }
		AdditionalArtifacts []struct {
			ArtifactPath string
			Checksum     struct{ Algorithm, Hash string }
		}
	}
	_, err := k.client.Get(k.t.Context(), k.client.ServiceURL("vnfpkgm", "v1", "vnf_packages", id), &shown, nil)
	k.must(err)
	sum := sha512.Sum512(content)
	if shown.Checksum.Algorithm != "sha512" || shown.Checksum.Hash != hex.EncodeToString(sum[:]) {
		k.t.Errorf("package %s has digest %v, its content %x", id, shown.Checksum, sum)
	}
	read, err := csar.Verify(content)
	k.must(err)
	meta := string(read.Files["TOSCA-Metadata/TOSCA.meta"])
	for _, a := range shown.AdditionalArtifacts {
		if read.Files[a.ArtifactPath] == nil || !strings.Contains(meta, "Name: "+a.ArtifactPath+"\n") || !strings.Contains(meta, "Hash: "+a.Checksum.Hash+"\n") {
			k.t.Errorf("package %s: artifact %+v is not Slipway's\n%s", id, a, meta)
		}
	}
	if len(shown.AdditionalArtifacts) == 0 || len(shown.AdditionalArtifacts) != strings.Count(meta, "\nHash: ") {
		k.t.Errorf("package %s has %d artifacts in Tacker, and in it\n%s", id, len(shown.AdditionalArtifacts), meta)
	}
	return shown.Checksum.Hash
}

func (k realTacker) content(id string) []byte {
	k.t.Helper()
	response, err := k.client.Request(k.t.Context(), http.MethodGet, k.client.ServiceURL("vnfpkgm", "v1", "vnf_packages", id, "package_content"),
		&gophercloud.RequestOpts{KeepResponseBody: true, OkCodes: []int{http.StatusOK, http.StatusAccepted}, MoreHeaders: map[string]string{"Accept": "application/zip"}})
	k.must(err)
	content, err := io.ReadAll(response.Body)
	k.must(errors.Join(err, response.Body.Close()))
	return content
}

// rows are the numbers of VIMs, packages and secrets that are not deleted.
func (k realTacker) rows() (all []string) {
	k.t.Helper()
	for _, table := range []string{"tacker.vims deleted_at IS NULL OR deleted_at < '1000-01-02'", "tacker.vnf_packages deleted = 0", "tacker.vnf_package_vnfd deleted = '0'", "tacker.vnfd 1=1", "barbican.secrets deleted = 0"} {
		n, err := k.demo.Count(k.t.Context(), table)
		k.must(err)
		all = append(all, table+": "+n)
	}
	return all
}
