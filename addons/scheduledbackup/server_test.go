package scheduledbackup

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/slipway-sh/slipway/internal/backup"
	"github.com/slipway-sh/slipway/internal/backup/location"
	"github.com/slipway-sh/slipway/internal/backup/record"
	"github.com/slipway-sh/slipway/internal/backup/target"
	"github.com/slipway-sh/slipway/internal/kube"
	"github.com/slipway-sh/slipway/internal/kube/kubetest"
	"github.com/slipway-sh/slipway/internal/recovery/fence"
	"github.com/slipway-sh/slipway/internal/recovery/restore"
	"github.com/slipway-sh/slipway/internal/sandbox/sandboxtest"
)

const user = "backups-under-test"

// cluster is a real API server whose backups go to the Swift of a sandbox, made with the
// rights of the role alone.
type cluster struct {
	*testing.T
	box      *sandboxtest.Cloud
	on       *kube.Cluster
	config   *rest.Config
	settings Settings
	reader   *age.X25519Identity
	volume   string
	// allowed is that of the options.
	allowed func(context.Context) error
}

func clouds(box *sandboxtest.Cloud, name, password string) string {
	return fmt.Sprintf("clouds: {openstack: {region_name: RegionOne, auth: {auth_url: '%s/identity', username: %s, password: '%s', project_name: %s, user_domain_name: Default, project_domain_name: Default}}}\n", box.URL(), name, password, name)
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, box: sandboxtest.Start(t)}
	started := kubetest.Start(t)
	var err error
	if c.on, err = kube.New(started.Config); err != nil {
		t.Fatal(err)
	}
	if c.reader, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	key, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	c.settings = Settings{Environment: "demo", Target: "swift://backups/demo", Recipients: []string{c.reader.Recipient().String()}, Signers: []string{key.Signer()}, Keep: backup.Keep{Last: 2}, Every: "2s", Key: key[:],
		Clouds: clouds(c.box, "demo", c.box.Passwords().Demo)}
	c.grant()
	c.config = rest.CopyConfig(started.Config)
	c.config.Impersonate = rest.ImpersonationConfig{UserName: user}
	c.fill()
	return c
}

// grant gives the rights that the chart gives.
func (c *cluster) grant() {
	c.Helper()
	ctx := c.Context()
	subject := []rbacv1.Subject{{Kind: "User", Name: user, APIGroup: rbacv1.GroupName}}
	rbac := c.on.Typed.RbacV1()
	_, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: Rules()}, metav1.CreateOptions{})
	if err == nil {
		_, err = rbac.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = c.on.Typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: record.Namespace}}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = c.on.Typed.CoreV1().ConfigMaps(record.Namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: record.Name}}, metav1.CreateOptions{})
	}
	for namespace, rules := range map[string][]rbacv1.PolicyRule{
		record.Namespace: {{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{record.Name}, Verbs: []string{"get", "patch"}},
			{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}},
		restore.RecordNamespace: {{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{restore.RecordName}, Verbs: []string{"get"}}},
	} {
		if err == nil {
			_, err = rbac.Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}, metav1.CreateOptions{})
		}
		if err == nil {
			_, err = rbac.RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user}}, metav1.CreateOptions{})
		}
	}
	if err == nil {
		err = restore.RecordGeneration(ctx, c.on, 3)
	}
	if err == nil {
		err = restore.Record(ctx, c.on, "former")
	}
	if err != nil {
		c.Fatal(err)
	}
}

// fill makes a workload cluster in a project of its own with a volume, and leaves the
// environment as up does.
func (c *cluster) fill() {
	c.Helper()
	c.apply(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: openstackclusters.infrastructure.cluster.x-k8s.io}
spec:
  group: infrastructure.cluster.x-k8s.io
  scope: Namespaced
  names: {kind: OpenStackCluster, listKind: OpenStackClusterList, plural: openstackclusters, singular: openstackcluster}
  versions:
  - {name: v1beta1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`)
	c.apply(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {namespace: default, name: shop-cloud}\nstringData: {clouds.yaml: %q}\n", clouds(c.box, "admin", c.box.Passwords().Admin)))
	c.apply("apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: OpenStackCluster\nmetadata: {namespace: default, name: shop}\nspec: {identityRef: {name: shop-cloud, cloudName: openstack}}\n" +
		"---\napiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: OpenStackCluster\nmetadata: {namespace: default, name: lost}\nspec: {identityRef: {name: nowhere, cloudName: openstack}}\n")
	sealed, err := backup.Seal(backup.Sealed{File: []byte("the file"), State: []byte("the state"), Passphrase: []byte("the passphrase")}, c.settings.Recipients)
	if err != nil {
		c.Fatal(err)
	}
	c.apply(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {namespace: %s, name: %s}\ndata: {%s: %s}\n", backup.SealedNamespace, backup.SealedName, backup.SealedKey, base64.StdEncoding.EncodeToString(sealed)))
	v, err := volumes.Create(c.Context(), c.box.Admin.BlockStorage(c.T), volumes.CreateOpts{Size: 1}, nil).Extract()
	if err != nil {
		c.Fatal(err)
	}
	c.volume = v.ID
}

func (c *cluster) apply(text string) {
	c.Helper()
	c.until("objects are taken", func() error { return c.on.Apply(c.Context(), []byte(text)) })
}

func (c *cluster) until(what string, check func() error) {
	c.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	c.Fatalf("not in time: %s: %v", what, err)
}

// start runs the backups; cut, if set, is asked before each call to the cloud.
func (c *cluster) start(cut func(*http.Request) error) (stop func()) {
	c.Helper()
	m, err := manager.New(c.config, manager.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		c.Fatal(err)
	}
	o := Options{Settings: c.settings, UserAgent: "test", Allowed: c.allowed}
	if cut != nil {
		o.Wrap = func(below http.RoundTripper) http.RoundTripper { return cutter{below, cut} }
	}
	if err := Setup(m, o); err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			c.Error(err)
		}
	}
}

type cutter struct {
	below http.RoundTripper
	cut   func(*http.Request) error
}

func (c cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.cut(r); err != nil {
		return nil, err
	}
	return c.below.RoundTrip(r)
}

// repository is how the operator reads what was made, on another machine.
func (c *cluster) repository() *backup.Repository {
	c.Helper()
	at, err := location.Parse(c.settings.Target)
	if err != nil {
		c.Fatal(err)
	}
	t, err := target.Open(at, target.Access{Swift: func() (*gophercloud.ServiceClient, error) { return c.box.Member.ObjectStorage(c.T), nil }})
	if err != nil {
		c.Fatal(err)
	}
	r, err := backup.Open(c.Context(), t, backup.Options{Environment: "demo", Signers: c.settings.Signers})
	if err != nil {
		c.Fatal(err)
	}
	return r
}

func (c *cluster) schedule() record.Schedule {
	c.Helper()
	s, err := record.Load(c.Context(), c.on.Typed)
	if err != nil {
		c.Fatal(err)
	}
	if s.Schedule == nil {
		return record.Schedule{}
	}
	return *s.Schedule
}

// TestTheManagementClusterMakesItsBackups: encrypted and signed, as many as are to be
// kept, and with what is needed to make the management cluster again, while a failure is
// counted and told.
//
// proves: S-21
func TestTheManagementClusterMakesItsBackups(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	full := func(r *http.Request) error {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/packs/") {
			return fmt.Errorf("cut off")
		}
		return nil
	}
	stop := c.start(full)
	c.until("a failure is recorded", func() error {
		if s := c.schedule(); s.Failures == 0 || !strings.Contains(s.Error, "cut off") || !s.LastSuccess.IsZero() {
			return fmt.Errorf("record %+v", s)
		}
		return nil
	})
	c.until("it is told", func() error {
		list, err := c.on.Typed.CoreV1().Events(record.Namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && !slices.ContainsFunc(list.Items, func(e corev1.Event) bool { return e.Reason == "BackupFailed" && e.Type == corev1.EventTypeWarning }) {
			err = fmt.Errorf("%d events", len(list.Items))
		}
		return err
	})
	stop()
	if all, err := c.repository().List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("half a backup is listed: %v, %v", all, err)
	}
	defer c.start(nil)()
	seen := map[string]bool{}
	c.until("four backups, of which two stay", func() error {
		all, err := c.repository().List(t.Context())
		for _, b := range all {
			seen[b.ID] = true
			if b.Damage != "" {
				t.Errorf("%s: %s", b.ID, b.Damage)
			}
		}
		if err == nil && (len(seen) < 4 || len(all) != 2) {
			err = fmt.Errorf("%d were made, %d are there", len(seen), len(all))
		}
		return err
	})
	c.judge()
}

// TestAManagementClusterThatIsReplacedMeanwhile lists no backup: it would be the newest one beside
// those of the new management cluster.
func TestAManagementClusterThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	var asked atomic.Int32
	c.allowed = func(context.Context) error {
		if asked.Add(1) == 1 {
			return nil
		}
		return fence.ErrFenced
	}
	defer c.start(nil)()
	c.until("it notes why", func() error {
		if s := c.schedule(); !strings.Contains(s.Error, fence.ErrFenced.Error()) || asked.Load() < 2 {
			return fmt.Errorf("record %+v", s)
		}
		return nil
	})
	if all, err := c.repository().List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("listed are %v, %v", all, err)
	}
}

// judge reads the newest backup with the recipient's key.
func (c *cluster) judge() {
	c.Helper()
	r := c.repository()
	latest, err := r.Latest(c.Context(), time.Time{})
	if err != nil {
		c.Fatal(err)
	}
	s, err := r.Read(c.Context(), latest.ID, c.reader)
	if err != nil {
		c.Fatal(err)
	}
	if string(s.File)+string(s.State)+string(s.StatePassphrase) != "the filethe statethe passphrase" {
		c.Errorf("file %q, state %q", s.File, s.State)
	}
	if s.Generation != 3 || s.Environment != "demo" || s.Revision == "" || len(s.Objects) < 5 {
		c.Errorf("generation %d, %d objects at %q", s.Generation, len(s.Objects), s.Revision)
	}
	found := false
	for _, v := range s.Cloud.Volumes {
		found = found || v.ID == c.volume
	}
	if !found {
		c.Errorf("the volume of the tenant's project is not in %+v", s.Cloud)
	}
	if !slices.ContainsFunc(s.Cloud.Missing, func(text string) bool { return strings.Contains(text, "default/lost") }) {
		c.Errorf("missing %v: nobody says that the project of a cluster is unknown", s.Cloud.Missing)
	}
	stranger, err := age.GenerateX25519Identity()
	if err != nil {
		c.Fatal(err)
	}
	if _, err := r.Read(c.Context(), latest.ID, stranger); err == nil {
		c.Error("a stranger can read it")
	}
	if rec := c.schedule(); rec.LastSuccess.IsZero() || rec.Error != "" || rec.Failures == 0 || rec.Duration <= 0 {
		c.Errorf("record %+v", rec)
	}
}
