package moving

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

// renamed is a field that the client shows empty after the move, as the guide says: it asks for the
// newest version of the API, in which clusters have it as cluster_id.
const renamed = "stack_id"

// filled are fields that the guide says are otherwise after the move: what Magnum's driver
// leaves empty is filled in, and health is what Slipway sees.
var filled = []string{renamed, "node_addresses", "master_addresses", "container_version", "version", "health_status", "health_status_reason"}

// questions are the commands of Debian's client whose answers are compared, byte for byte.
func questions(clusters, templates []string) (all [][]string) {
	all = [][]string{{"coe", "cluster", "list"}, {"coe", "cluster", "list", "-f", "json"}, {"coe", "cluster", "template", "list"}}
	for _, name := range templates {
		all = append(all, []string{"coe", "cluster", "template", "show", name, "-f", "json"})
	}
	for _, name := range clusters {
		all = append(all, []string{"coe", "cluster", "show", name, "-f", "json"}, []string{"coe", "nodegroup", "list", name},
			[]string{"coe", "nodegroup", "show", name, "default-master", "-f", "json"}, []string{"coe", "nodegroup", "show", name, "default-worker", "-f", "json"},
			[]string{"coe", "ca", "show", name})
	}
	return all
}

// answers are what the client prints.
func (w *world) answers(clusters, templates []string) map[string]string {
	w.Helper()
	all := map[string]string{}
	for _, question := range questions(clusters, templates) {
		all[fmt.Sprint(question)] = w.openstack(question...)
	}
	for _, name := range clusters {
		all["config "+name] = w.config(name)
	}
	return all
}

// secrets are what the client makes anew each time.
var secrets = regexp.MustCompile(`client-(certificate|key)-data: .*`)

// config is the kubeconfig that the client makes, without the key that it made for it. The
// certificate is of the cluster's authority.
func (w *world) config(name string) string {
	w.Helper()
	out, err := w.inside(nil, w.login, "sh", "-ec", `rm -rf /tmp/config; mkdir /tmp/config; openstack coe cluster config "$0" --dir /tmp/config >/dev/null; cat /tmp/config/config`, name)
	w.must(err)
	file, err := clientcmd.Load([]byte(out))
	w.must(err)
	context := file.Contexts[file.CurrentContext]
	user, cluster := file.AuthInfos[context.AuthInfo], file.Clusters[context.Cluster]
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(cluster.CertificateAuthorityData) {
		w.Fatalf("the kubeconfig of %s has no authority: %s", name, base64.StdEncoding.EncodeToString(cluster.CertificateAuthorityData))
	}
	block, _ := pem.Decode(user.ClientCertificateData)
	if block == nil {
		w.Fatalf("the kubeconfig of %s has no certificate", name)
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	w.must(err)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		w.Errorf("the kubeconfig of %s: %v", name, err)
	}
	return secrets.ReplaceAllString(out, "client-$1-data: …") + "subject: " + leaf.Subject.String() + "\n"
}

// same fails unless answers are the same bytes, but for fields that are named, and for the order
// of keys in JSON.
func (w *world) same(when string, before, now map[string]string, except ...string) {
	w.Helper()
	for _, question := range slices.Sorted(maps.Keys(before)) {
		if question == "[coe cluster list]" && slices.Contains(except, "health_status") {
			continue // a table, with health; the same in JSON is compared without
		}
		was, is := ordered(before[question], except), ordered(now[question], except)
		if was != is {
			w.Errorf("%s: openstack %s differs: before (-), now (+):\n%s", when, question, cmp.Diff(was, is))
		}
	}
}

// ordered is an answer in JSON without some fields, with keys in order; other answers stay.
func ordered(text string, except []string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	rows, _ := value.([]any)
	for _, row := range append(rows, value) {
		if fields, is := row.(map[string]any); is {
			maps.DeleteFunc(fields, func(name string, _ any) bool { return slices.Contains(except, name) })
		}
	}
	kept, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return text
	}
	return string(kept)
}
