package clusterapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/cause/look"
	"github.com/slipway-sh/slipway/internal/cloud"
)

// asking is how many clusters' clouds are asked at the same time.
const asking = 8

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// Said is what the clouds of clusters said.
type Said map[types.NamespacedName]*cause.Cloud

// Of returns what the cloud of a cluster said; nil if it was not asked.
func (s Said) Of(namespace, name string) *cause.Cloud {
	return s[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Ask asks the clouds of the clusters that wanted chooses, each with the cluster's own
// credential, which shows whether that works. Projects are read once for all their
// clusters. closer adds details of what is sick, such as consoles.
func (all Clusters) Ask(ctx context.Context, client dynamic.Interface, cache *look.Cache, closer bool, wanted func(Report) bool) Said {
	said := Said{}
	var mu sync.Mutex
	var group sync.WaitGroup
	room := make(chan struct{}, asking)
	for _, r := range all.Reports(nil, time.Now()) {
		if !wanted(r) {
			continue
		}
		group.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			secret, entry := all.Identity(r.Namespace, r.Name)
			o, err := login(ctx, client, r.Namespace, secret, entry)
			if err != nil && absent(err) == nil {
				return
			}
			var booting func(*cause.Cloud) []string
			if closer {
				booting = func(c *cause.Cloud) []string {
					return cause.Booting(cause.Snapshot{Objects: all.Scene(r.Namespace, r.Name), Cloud: c, Now: time.Now()})
				}
			}
			answer := absent(err)
			if answer == nil {
				answer = cache.Ask(ctx, o, booting)
			}
			mu.Lock()
			defer mu.Unlock()
			said[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] = answer
		})
	}
	group.Wait()
	return said
}

// Login returns the login of a cluster, from the Secret that its OpenStackCluster names;
// ok is false if there is none or it cannot be read.
func (all Clusters) Login(ctx context.Context, client dynamic.Interface, namespace, name string) (cloud.Options, bool) {
	secret, entry := all.Identity(namespace, name)
	o, err := login(ctx, client, namespace, secret, entry)
	return o, err == nil
}

var (
	errUnnamed = errors.New("no Secret is named")
	errEmpty   = errors.New("it has no clouds.yaml")
)

// absent is what stands for the answer of a cloud that cannot be asked because there is no
// credential; nil if there may be one.
func absent(err error) *cause.Cloud {
	if !apierrors.IsNotFound(err) && !errors.Is(err, errEmpty) {
		return nil
	}
	return &cause.Cloud{Refused: &cause.Refusal{Absent: true, Words: err.Error()}}
}

// login reads a login from a Secret.
func login(ctx context.Context, client dynamic.Interface, namespace, secret, entry string) (cloud.Options, error) {
	if secret == "" {
		return cloud.Options{}, errUnnamed
	}
	object, err := client.Resource(secrets).Namespace(namespace).Get(ctx, secret, metav1.GetOptions{})
	if err != nil {
		return cloud.Options{}, err
	}
	decoded := func(key string) []byte {
		value, _ := base64.StdEncoding.DecodeString(text(object, "data", key))
		return value
	}
	o := cloud.Options{Cloud: entry, CloudsYAML: decoded("clouds.yaml"), CABundle: decoded("cacert")}
	if len(o.CloudsYAML) == 0 {
		return o, fmt.Errorf("Secret %s: %w", secret, errEmpty)
	}
	return o, nil
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
	// find returns the Secret of the credential, and the entry in its clouds.yaml.
	find func(objects) (secret, entry string)
	// login was read at the time in at.
	login   cloud.Options
	problem error
	at      time.Time
}

func newAsker(client dynamic.Interface, namespace, name string) *asker {
	return &asker{client: client, namespace: namespace, name: name, cache: look.NewCache(time.Now).Every(askEvery),
		find: func(o objects) (string, string) { return Clusters{namespace: o}.Identity(namespace, name) }}
}

// said returns what the cluster's cloud last said; nil as long as there is no credential
// or no answer.
func (a *asker) said(ctx context.Context, o objects) *cause.Cloud {
	if time.Since(a.at) > askEvery {
		secret, entry := a.find(o)
		a.login, a.problem = login(ctx, a.client, a.namespace, secret, entry)
		a.at = time.Now()
	}
	if a.problem != nil {
		return absent(a.problem)
	}
	said, _ := a.cache.Look(ctx, a.name, a.login)
	return said
}
