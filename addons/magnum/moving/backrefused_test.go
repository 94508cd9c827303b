package moving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-sh/slipway/addons/magnum/moving/database"
	"github.com/slipway-sh/slipway/addons/magnum/v1alpha1"
)

// authority is a certificate authority as Magnum makes it, or as Cluster API does.
func authority(t *testing.T, name string, tag int) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := asn1.Marshal(pkix.RDNSequence{{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: asn1.RawValue{Tag: tag, Bytes: []byte(name)}}}})
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), RawSubject: subject, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})
}

func (w *world) secret(suffix string, data map[string][]byte) {
	w.t.Helper()
	o := &corev1.Secret{}
	w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: stack + "-" + suffix}, o))
	o.Data = data
	w.update(o)
}

// sql changes Magnum's rows, as somebody who still uses it.
func (s *server) sql(t *testing.T, table string, id int64, set map[string]any) {
	t.Helper()
	if err := s.Apply(t.Context(), s.image, database.Work{Changes: []database.Change{{Table: table, ID: id, Set: set, Delete: set == nil}}}); err != nil {
		t.Fatal(err)
	}
	s.transactions = 0
}

// TestHandBackRefused: each mistake is told by name, and nothing of it is written.
func TestHandBackRefused(t *testing.T) {
	t.Parallel()
	own, key := authority(t, "kubernetes", asn1.TagPrintableString)
	status := func(w *world, change func(*v1alpha1.Cluster)) {
		c := w.cluster(stack)
		change(c)
		w.must(w.client.Status().Update(w.t.Context(), c))
	}
	for name, test := range map[string]struct {
		change func(*world, *server)
		want   []string
	}{
		"resized in Magnum": {func(w *world, s *server) { s.sql(w.t, "nodegroup", 18, map[string]any{"node_count": 7}) },
			[]string{"node group default-worker of cluster shop-prod", "node_count", "Magnum has 7, Slipway 2", "--overwrite shop-prod"}},
		"relabelled in Magnum": {func(w *world, s *server) { s.sql(w.t, "cluster", 17, map[string]any{"labels": `{"a":"b"}`}) }, []string{"cluster shop-prod", "changed labels", `{"a":"b"}`}},
		"deleted in Magnum":    {func(w *world, s *server) { s.sql(w.t, "cluster", 17, nil) }, []string{"cluster shop-prod", "Magnum deleted its row"}},
		"a group of Magnum's": {func(w *world, s *server) {
			s.sql(w.t, "nodegroup", 0, map[string]any{"uuid": "c6b1d7a4-0f0e-4a80-9d0b-0000000000cc", "name": "other", "cluster_id": shopProd, "project_id": shop})
		}, []string{"node group other of cluster shop-prod", "somebody made it in Magnum"}},
		"no record": {func(w *world, _ *server) {
			o := &corev1.ConfigMap{}
			w.must(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: v1alpha1.Namespace(shop), Name: recordCluster + shopProd}, o))
			w.must(w.client.Delete(w.t.Context(), o))
		}, []string{"cluster shop-prod", "no record", "--overwrite shop-prod"}},
		"in progress": {func(w *world, _ *server) {
			status(w, func(c *v1alpha1.Cluster) { c.Status.Phase = v1alpha1.UpdateInProgress })
		}, []string{"cluster shop-prod", "still working on it (UPDATE_IN_PROGRESS)"}},
		"an own chart": {func(w *world, _ *server) { status(w, func(c *v1alpha1.Cluster) { c.Status.Release.Foreign = false }) }, []string{"cluster shop-prod", "replaces the machines", "--may-roll"}},
		"a release that failed": {func(w *world, _ *server) {
			w.releases[v1alpha1.Namespace(shop)+"/"+stack].Info.Status = helmrelease.StatusFailed
		}, []string{"cluster shop-prod", "its release is failed"}},
		"scaled by hand": {func(w *world, _ *server) { w.replicas("gpu-1", 3) }, []string{"node group gpu_1", "has 3 machines, and it is to have 1"}},
		"renamed":        {func(w *world, _ *server) { w.secret("ca", map[string][]byte{"tls.crt": own, "tls.key": key}) }, []string{"certificates of cluster shop-prod", "CN=shop-prod", "CN=kubernetes"}},
		"no credential":  {func(w *world, _ *server) { w.secret("cloud-credentials", nil) }, []string{"credential of cluster shop-prod", "names no application credential"}},
		"no authority": {func(w *world, _ *server) {
			w.must(w.client.Delete(w.t.Context(), &corev1.Secret{ObjectMeta: object(stack + "-proxy")}))
		}, []string{"certificates of cluster shop-prod", stack + "-proxy is missing"}},
		"rotated":              {func(w *world, _ *server) { status(w, func(c *v1alpha1.Cluster) { c.Status.CARotationID = "r" }) }, []string{"certificates of cluster shop-prod", "were rotated"}},
		"a group that is gone": {func(w *world, _ *server) { w.remove("MachineDeployment", stack+"-gpu-1") }, []string{"node group gpu_1", "no MachineDeployment"}},
		"a template in use": {func(w *world, _ *server) {
			w.must(w.client.Delete(w.t.Context(), &v1alpha1.ClusterTemplate{ObjectMeta: object("0b7a9e0c-0d3c-4a51-8a41-000000000002")}))
		}, []string{"template old", "cluster old-heat is made from it"}},
		"a template of another driver": {func(w *world, _ *server) {
			o := &v1alpha1.ClusterTemplate{ObjectMeta: object("bm")}
			o.UID = types.UID("0b7a9e0c-0d3c-4a51-8a41-0000000000bb")
			o.Spec = v1alpha1.ClusterTemplateSpec{Identity: v1alpha1.Identity{ProjectID: shop}, TemplateValues: v1alpha1.TemplateValues{COE: "kubernetes", ImageID: "i", ServerType: "bm", ClusterDistro: "ubuntu"}}
			w.create(o)
		}, []string{"template bm", `server type "bm"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := adopted(t, newestDump)
			w.db = s.image.Database
			test.change(w, s)
			before, rows := w.written(), s.image
			plan := w.back(s, Choices{})
			said := ""
			for _, r := range plan.Refused() {
				said += r.Object + ": " + r.What + "; " + r.Remedy + "\n"
			}
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in %s", want, said)
				}
			}
			// What is not refused is handed back without it.
			w.must(plan.Run(t.Context(), s, w.site(), func(string, bool) {}))
			c := w.cluster(stack)
			if strings.Contains(said, "shop-prod") && !strings.HasPrefix(said, "template") && (v1alpha1.Held(c) != "" || before["cluster "+c.Namespace+"/"+c.Name] != c.ResourceVersion || s.image != rows) {
				t.Errorf("the cluster was written all the same: %v", c.Annotations)
			}
		})
	}
}

// TestHandBackOverwrites: the operator decides, and Slipway's rows win.
func TestHandBackOverwrites(t *testing.T) {
	t.Parallel()
	w, s := adopted(t, newestDump)
	s.sql(t, "nodegroup", 18, map[string]any{"node_count": 7})
	s.sql(t, "nodegroup", 19, nil)
	w.handBack(s, Choices{Overwrite: []string{"shop-prod"}})
	if n := groupRow(s.image.Database, shopProd, "default-worker").NodeCount; n != 2 || groupRow(s.image.Database, shopProd, "gpu_1") == nil {
		t.Errorf("%d workers, %+v", n, s.image.Groups)
	}
}

// TestHandBackMeanwhile: a row that somebody wrote between the plan and its transaction
// is not written over.
func TestHandBackMeanwhile(t *testing.T) {
	t.Parallel()
	w, s := adopted(t, newestDump)
	w.change()
	plan := w.back(s, Choices{})
	s.sql(t, "nodegroup", 17, map[string]any{"status_reason": "Magnum is at work"})
	err := plan.Run(t.Context(), s, w.site(), func(string, bool) {})
	if !errors.Is(err, database.ErrChanged) || groupRow(s.image.Database, shopProd, "default-worker").NodeCount != 2 {
		t.Errorf("%v", err)
	}
	if held := v1alpha1.Held(w.cluster(stack)); held != v1alpha1.HeldByHandBack {
		t.Errorf("held by %q", held)
	}
	w.handBack(s, Choices{})
	changed(t, s.image.Database)
}

// TestHandBackDeleted: a cluster that Slipway deleted is deleted from Magnum's
// database, and nothing as long as its machines are there.
func TestHandBackDeleted(t *testing.T) {
	t.Parallel()
	w, s := adopted(t, newestDump)
	c := w.cluster(stack)
	c.Finalizers = nil
	w.update(c)
	w.must(w.client.Delete(t.Context(), c))
	if plan := w.back(s, Choices{}); item(plan, KindCluster, "shop-prod").Verdict != Refuse {
		t.Errorf("%+v", item(plan, KindCluster, "shop-prod"))
	}
	delete(w.releases, c.Namespace+"/"+stack)
	w.remove("Cluster", stack)
	w.remove("Machine", stack+"-m1")
	for name := range map[string]bool{"default-master": true, "default-worker": true, "gpu-1": true} {
		w.must(client.IgnoreNotFound(w.client.Delete(t.Context(), &v1alpha1.NodeGroup{ObjectMeta: object(stack + "-" + name)})))
	}
	if p := w.plan(); w.find(p, "shop-prod").Verdict != Ours {
		t.Errorf("an import: %+v", w.find(p, "shop-prod").Item)
	}
	w.handBack(s, Choices{})
	if d := s.image.Database; len(d.Clusters) != 6 || groupRow(d, shopProd, "gpu_1") != nil || s.transactions != 1 || len(d.Groups) != 12 {
		t.Errorf("%d clusters, %d groups, %d transactions", len(d.Clusters), len(d.Groups), s.transactions)
	}
}

// TestHandBackCanary: one cluster alone.
func TestHandBackCanary(t *testing.T) {
	t.Parallel()
	w, s := adopted(t, newestDump)
	w.change()
	plan := w.handBack(s, Choices{Only: "shop-prod"})
	if plan.Pending() != 1 || s.transactions != 1 || len(s.image.Quotas) != 1 || len(s.image.Templates) != 3 || plan.Items[0].Kind != KindCluster {
		t.Errorf("%d pending, %d transactions, %+v", plan.Pending(), s.transactions, plan.Items[0])
	}
	if w.handBack(s, Choices{}); len(s.image.Quotas) != 0 || len(s.image.Templates) != 4 {
		t.Errorf("%d quotas, %d templates", len(s.image.Quotas), len(s.image.Templates))
	}
}

// TestHandBackAuthorities: the authorities of a cluster whose row is gone go into the
// database with it, with a certificate for Magnum itself.
func TestHandBackAuthorities(t *testing.T) {
	t.Parallel()
	w, s := adopted(t, newestDump)
	certificate, key := authority(t, "shop-prod", asn1.TagUTF8String)
	for _, suffix := range []string{"ca", "etcd", "proxy"} {
		w.secret(suffix, map[string][]byte{"tls.crt": certificate, "tls.key": key})
	}
	s.sql(t, "cluster", 17, nil)
	overwrite := []string{shopProd}
	if plan := w.back(s, Choices{Overwrite: overwrite, Certificates: "barbican"}); item(plan, KindCertificate, stack+"-ca").Verdict != Refuse {
		t.Errorf("%+v", plan.Refused())
	}
	w.handBack(s, Choices{Overwrite: overwrite, Certificates: InDatabase})
	c := row(s.image.Database, shopProd)
	block, _ := pem.Decode([]byte(s.image.KeyPairs[c.MagnumRef].Certificate))
	magnum, err := x509.ParseCertificate(block.Bytes)
	w.must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(s.image.KeyPairs[c.CARef].Certificate))
	if _, err := magnum.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil || magnum.Subject.Organization[0] != "system:masters" {
		t.Errorf("%v %v", magnum.Subject, err)
	}
	if len(s.image.KeyPairs) != 7 || c.EtcdRef == "" || c.FrontProxyRef == "" || c.ID == 17 || c.StackID != stack || c.Created.Year() != 2026 || !strings.Contains(s.image.KeyPairs[c.CARef].PrivateKey, "EC PRIVATE") {
		t.Errorf("%d pairs, %+v", len(s.image.KeyPairs), c)
	}
	if again := w.handBack(s, Choices{}); again.Pending() != 0 {
		t.Errorf("%d", again.Pending())
	}
}

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: v1alpha1.Namespace(shop), Name: name}
}
