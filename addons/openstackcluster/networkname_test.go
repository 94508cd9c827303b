package openstackcluster

import (
	"strings"
	"testing"

	jinja "github.com/slipway-sh/slipway/addons/addonprovider/values"
)

// The name of a shared network is its owner's, who is of another project and may
// change it at any time. In the cloud provider's file it is one line: it is no
// object on the cluster, no other setting, such as where to send the credential,
// and it does not swallow the next.
func TestTheNameOfASharedNetworkIsOneLine(t *testing.T) {
	t.Parallel()
	all := render(t)
	for _, name := range []string{
		"net\n[Global]\nauth-url=https://evil.example", "net\r[Global]", "net\u0085[Global]", "net\u2028x: y", "net\\", "net\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: pwned}\n",
		"net\"", "{{ cloud_identity.data }}", "", "netz größe",
	} {
		variables := known(someClouds, nil)
		variables["infra_cluster"] = jinja.Of(map[string]any{"status": map[string]any{"network": map[string]any{"name": name}, "externalNetwork": map[string]any{"id": "ext1"}}})
		objects := applied(t, all, "cloud-config", variables)
		text, _ := at(objects.get(t, "Secret cloud-config"), "stringData", "cloud.conf").(string)
		before, rest, _ := strings.Cut(text, "internal-network-name=")
		line, after, _ := strings.Cut(rest, "\n")
		if len(objects) != 1 || strings.Count(before, "\n") != 5 || !strings.HasPrefix(after, "[LoadBalancer]\nfloating-network-id=ext1\n") || strings.HasSuffix(line, `\`) {
			t.Errorf("%q: %d objects, cloud.conf is\n%s", name, len(objects), text)
		}
		if name == "netz größe" && line != name {
			t.Errorf("%q became %q", name, line)
		}
	}
}
