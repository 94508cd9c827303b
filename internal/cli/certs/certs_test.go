package certs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/fault"
	"github.com/slipway-sh/slipway/internal/ui"
)

var now = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

func listing() certs.Listing {
	at := func(days int) time.Time { return now.AddDate(0, 0, days) }
	const dir = "file /var/lib/rancher/k3s/server/tls/"
	return certs.Listing{Certificates: []certs.Certificate{
		{Cluster: "seed", Use: certs.UseSeed, Object: dir + "client-admin.crt", Ends: at(300), RenewedBy: certs.ByK3s, RenewsAt: at(180)},
		{Cluster: "seed", Use: certs.UseSeed, Object: dir + "etcd/client.crt", Ends: at(301), RenewedBy: certs.ByK3s, RenewsAt: at(181)},
		{Cluster: "prod", Namespace: "default", Use: certs.UseMachine, Object: "Machine prod-a", Ends: at(-2), RenewedBy: certs.ByNobody},
		{Cluster: "shop", Namespace: "shop", Use: certs.UseServing, Object: "Secret shop/hook", Ends: at(20), RenewedBy: certs.ByCertManager},
		{Cluster: "k8s", Namespace: "magnum-1", Use: certs.UseKubeconfig, Object: "Secret k8s-kubeconfig", Ends: at(400), RenewedBy: certs.ByClusterAPI, RenewsAt: at(200)},
	}, Unseen: []certs.Unseen{{What: "API server of shop/shop", Why: "no answer"}}}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := ui.Output(&out, "table", nil, table(listing(), now)); err != nil {
		t.Fatal(err)
	}
	want := `CLUSTER       CERTIFICATE            WHERE                               ENDS        LEFT          RENEWED BY
seed          k3s                    2 files, the first: client-admin.crt  2027-09-21  300d          k3s when it starts, from 2027-05-24
prod          control plane machine  Machine prod-a                      2026-11-23  ended 2d ago  nobody
shop          serving                Secret shop/hook                    2026-12-15  20d           cert-manager
magnum-1/k8s  kubeconfig             Secret k8s-kubeconfig               2027-12-30  400d          Cluster API, from 2027-06-13
not looked at: API server of shop/shop: no answer
`
	squeeze := func(text string) string {
		var lines []string
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	if squeeze(out.String()) != squeeze(want) {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
}

// TestVerdict names the certificate that ends first, and fails for what nobody has seen.
//
// proves: S-70
func TestVerdict(t *testing.T) {
	t.Parallel()
	l := listing()
	err := verdict(l, l.EndingBy(now.AddDate(0, 0, 21)), 21, now)
	if fault.ExitCode(err) != fault.ExitFailure || !strings.Contains(err.Error(), "2 of them end within 21 days, the first ended 2d ago: Machine prod-a of prod") {
		t.Errorf("ending: %v", err)
	}
	l.Certificates = l.Certificates[:2]
	if err := verdict(l, l.EndingBy(now.AddDate(0, 0, 21)), 21, now); fault.ExitCode(err) != fault.ExitFailure || !strings.Contains(err.Error(), "API server of shop/shop") {
		t.Errorf("unseen: %v", err)
	}
	l.Unseen = nil
	if err := verdict(l, l.EndingBy(now.AddDate(0, 0, 21)), 21, now); err != nil {
		t.Errorf("all is well: %v", err)
	}
}
