package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/slipway-sh/slipway/internal/cause"
	"github.com/slipway-sh/slipway/internal/fault"
)

// groupPause is the time between two checks of deleted server groups.
const groupPause = time.Second

// AwaitServerGroups waits until a cluster's server groups, which are deleted with its
// release, are also gone from OpenStack. Until then their controller and its
// credential are needed. It ends early if the cloud refuses the credential.
func AwaitServerGroups(ctx context.Context, client dynamic.Interface, namespace, name string) error {
	asked := newAsker(client, namespace, name)
	asked.find = groupLogin
	return awaitGroups(ctx, client, namespace, name, asked.said)
}

// awaitGroups waits with what a cloud says.
func awaitGroups(ctx context.Context, client dynamic.Interface, namespace, name string, ask func(context.Context, objects) *cause.Cloud) error {
	left := "server groups"
	var since time.Time
	for {
		list, err := client.Resource(serverGroups).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: Label + "=" + name})
		switch {
		case apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0:
			return nil
		case context.Cause(ctx) != nil:
			return fmt.Errorf("deleting %s: %w", left, context.Cause(ctx))
		case err != nil:
			return fmt.Errorf("deleting %s: %w", left, err)
		}
		groups := objects{}
		for i := range list.Items {
			groups[serverGroups] = append(groups[serverGroups], &list.Items[i])
		}
		part := serverGroupPart(&list.Items[0])
		left = fmt.Sprintf("ServerGroup %s: %s %s", part.Name, part.State, part.Cause)
		f, vain := refusedGroups(groups, ask(ctx, groups))
		switch {
		case !vain:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) > patience:
			return fault.New(f.Object.String(), fmt.Errorf("deleting ServerGroup %s: %w", part.Name, errors.New(f.Cause)), f.Fix+"; then run the same command again")
		}
		select {
		case <-ctx.Done():
		case <-time.After(groupPause):
		}
	}
}

// refusedGroups is why server groups cannot be deleted, if it is known and stays so.
func refusedGroups(groups objects, said *cause.Cloud) (cause.Finding, bool) {
	if said == nil || said.Refused == nil {
		return cause.Finding{}, false
	}
	for _, f := range cause.Explain(cause.Snapshot{Objects: cause.Objects{"ServerGroup": groups[serverGroups]}, Cloud: said, Now: time.Now()}).Findings {
		if slices.Contains(blocks(), f.Reason) {
			return f, true
		}
	}
	return cause.Finding{}, false
}

// groupLogin is the Secret of a server group's credential, and the entry in its clouds.yaml.
func groupLogin(o objects) (secret, entry string) {
	if len(o[serverGroups]) == 0 {
		return "", ""
	}
	group := o[serverGroups][0]
	return nested(group, "secretName"), nested(group, "cloudName")
}

func nested(group *unstructured.Unstructured, field string) string {
	return text(group, "spec", "cloudCredentialsRef", field)
}
