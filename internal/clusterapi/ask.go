package clusterapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// reading is how many Secrets are read at the same time.
const reading = 16

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// Said is what the clouds of clusters said.
type Said map[types.NamespacedName]look.Reply

// Of returns what the cloud of a cluster said; nil if it was not asked.
func (s Said) Of(namespace, name string) *cause.Cloud {
	return s[types.NamespacedName{Namespace: namespace, Name: name}].Cloud
}

// Unseen is what was not asked about a cluster, and why.
func (s Said) Unseen(namespace, name string) []cause.Unseen {
	return s[types.NamespacedName{Namespace: namespace, Name: name}].Unseen
}

// Ask asks the clouds of the clusters that wanted chooses, each with the cluster's own
// credential, which shows whether that works. Projects are read once for all their
// clusters, and those that are not ready come first, because the time for all is bounded.
// closer adds details of what is sick, such as consoles. wanted has no causes to choose by.
func (all Clusters) Ask(ctx context.Context, client dynamic.Interface, cache *look.Cache, closer bool, wanted func(Report) bool) Said {
	chosen := all.Chosen(wanted)
	logins := all.logins(ctx, client, chosen)
	said := Said{}
	var keys []types.NamespacedName
	var questions []look.Question
	for i, r := range chosen {
		key := types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
		if err := logins[i].err; err != nil {
			if said[key] = (look.Reply{Cloud: absent(err)}); said[key].Cloud == nil && !errors.Is(err, errUnnamed) {
				said[key] = look.Reply{Unseen: []cause.Unseen{{What: cause.TheCloud, Why: "reading its credential: " + err.Error()}}}
			}
			continue
		}
		q := look.Question{Login: logins[i].login}
		if closer {
			q.Closer = func(c *cause.Cloud) cause.Details {
				return cause.Closer(cause.Snapshot{Objects: all.Scene(r.Namespace, r.Name), Cloud: c, Now: time.Now()})
			}
		}
		keys, questions = append(keys, key), append(questions, q)
	}
	for i, reply := range cache.AskAll(ctx, questions) {
		said[keys[i]] = reply
	}
	return said
}

// Chosen are the outlines of the clusters that wanted chooses, those that are not ready
// first: the time of who asks all of them may end before the last.
func (all Clusters) Chosen(wanted func(Report) bool) []Report {
	chosen := slices.DeleteFunc(all.Outline(), func(r Report) bool { return !wanted(r) })
	order := func(r Report) int {
		if Sick(r) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(chosen, func(a, b Report) int { return order(a) - order(b) })
	return chosen
}

// read is a login that was read, or why it could not be.
type read struct {
	login cloud.Options
	err   error
}

// logins reads the credentials of clusters.
func (all Clusters) logins(ctx context.Context, client dynamic.Interface, chosen []Report) []read {
	found := make([]read, len(chosen))
	var group errgroup.Group
	group.SetLimit(reading)
	for i, r := range chosen {
		group.Go(func() error {
			found[i].login, found[i].err = login(ctx, client, r.Namespace, all.identity(r.Namespace, r.Name))
			return nil
		})
	}
	_ = group.Wait() // there are no errors
	return found
}

// Login returns the login of a cluster, from the Secret that its OpenStackCluster or that one's
// OpenStackClusterIdentity names; ok is false if there is none or it cannot be read.
func (all Clusters) Login(ctx context.Context, client dynamic.Interface, namespace, name string) (cloud.Options, bool) {
	o, err := login(ctx, client, namespace, all.identity(namespace, name))
	return o, err == nil
}

// Credential returns where the login of a cluster is, and the login, as [Clusters.Login] does. The place
// is empty if no Secret is named.
func (all Clusters) Credential(ctx context.Context, client dynamic.Interface, namespace, name string) (types.NamespacedName, cloud.Options, error) {
	by := all.identity(namespace, name)
	at, err := by.secret(ctx, client, namespace)
	if err != nil {
		return at, cloud.Options{}, err
	}
	o, err := login(ctx, client, namespace, by)
	return at, o, err
}

// absent is what stands for the answer of a cloud that cannot be asked because there is no
// credential; nil if there may be one.
func absent(err error) *cause.Cloud {
	if !apierrors.IsNotFound(err) && !errors.Is(err, errEmpty) && !errors.Is(err, errBarred) {
		return nil
	}
	return &cause.Cloud{Refused: &cause.Refusal{Absent: true, Words: err.Error()}}
}

// login reads the login of a cluster in a namespace from its Secret.
func login(ctx context.Context, client dynamic.Interface, namespace string, by identity) (cloud.Options, error) {
	at, err := by.secret(ctx, client, namespace)
	if err != nil {
		return cloud.Options{}, err
	}
	object, err := client.Resource(secrets).Namespace(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
	if err != nil {
		return cloud.Options{}, err
	}
	decoded := func(key string) []byte {
		value, _ := base64.StdEncoding.DecodeString(text(object, "data", key))
		return value
	}
	o := cloud.Options{Cloud: by.entry, Region: by.region, CloudsYAML: decoded("clouds.yaml"), CABundle: decoded("cacert")}
	if len(o.CloudsYAML) == 0 {
		return o, fmt.Errorf("Secret %s: %w", at.Name, errEmpty)
	}
	return o.Portable(), nil
}

// Sick reports whether a cluster is worth asking its cloud about.
func Sick(r Report) bool { return !r.Ready() }

// askEvery is how often the cloud is asked about a cluster that is waited for: with
// patience a wait ends 45 s after the cloud knows that it is in vain.
const askEvery = 15 * time.Second

// asker asks the cloud of one cluster in the background, while it is waited for.
type asker struct {
	client          dynamic.Interface
	namespace, name string
	cache           *look.Cache
	// find returns how the cluster logs in.
	find func(objects) identity
	// login was read at the time in at.
	login   cloud.Options
	problem error
	at      time.Time
}

func newAsker(client dynamic.Interface, namespace, name string) *asker {
	return &asker{client: client, namespace: namespace, name: name, cache: look.NewCache(time.Now).Every(askEvery),
		find: func(o objects) identity { return o.identity(name) }}
}

// said returns what the cluster's cloud last said; nil as long as there is no credential
// or no answer.
func (a *asker) said(ctx context.Context, o objects) *cause.Cloud {
	if time.Since(a.at) > askEvery {
		a.login, a.problem = login(ctx, a.client, a.namespace, a.find(o))
		a.at = time.Now()
	}
	if a.problem != nil {
		return absent(a.problem)
	}
	said, _ := a.cache.Look(ctx, a.name, a.login)
	return said
}
