package console

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/slipway-sh/slipway/internal/certs"
	"github.com/slipway-sh/slipway/internal/console"
	"github.com/slipway-sh/slipway/internal/console/words"
)

// TestCertificatesByTheirEnd: the many files of k3s are one line, what ended or ends soon says
// so, and what nobody has seen is kept.
func TestCertificatesByTheirEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	at := func(days int) time.Time { return now.AddDate(0, 0, days) }
	got := certificates(certs.Listing{Certificates: []certs.Certificate{
		{Cluster: "seed", Use: certs.UseSeed, Object: "file /tls/client-admin.crt", Ends: at(300), RenewedBy: certs.ByK3s},
		{Cluster: "seed", Use: certs.UseSeed, Object: "file /tls/etcd.crt", Ends: at(301), RenewedBy: certs.ByK3s},
		{Cluster: "k8s", Namespace: "magnum-1", Use: certs.UseKubeconfig, Object: "Secret k8s-kubeconfig", Ends: at(20), RenewedBy: certs.ByClusterAPI},
		{Cluster: "prod", Namespace: "default", Use: certs.UseMachine, Object: "Machine prod-a", Ends: at(-2), RenewedBy: certs.ByNobody},
	}, Unseen: []certs.Unseen{{What: "API server of shop/shop", Why: "no answer"}}}, now)
	want := []console.Certificate{
		{Cluster: "prod", Use: certs.UseMachine, Where: "Machine prod-a", Ends: at(-2), Left: words.T("ended %s ago", "2d"), RenewedBy: words.T("nobody"), Health: console.Broken},
		{Cluster: "magnum-1/k8s", Use: certs.UseKubeconfig, Where: "Secret k8s-kubeconfig", Ends: at(20), Left: words.Said("20d"), RenewedBy: words.Said("Cluster API"), Health: console.Changing},
		{Cluster: "seed", Use: certs.UseSeed, Where: "2 files, the first: client-admin.crt", Ends: at(300), Left: words.Said("300d"), RenewedBy: words.T("k3s when it starts"), Health: console.Well},
	}
	if !reflect.DeepEqual(got.List, want) || got.Soon != 21 || !slices.Equal(got.Unseen, []console.Unseen{{What: "API server of shop/shop", Why: "no answer"}}) {
		t.Errorf("%+v", got)
	}
}
