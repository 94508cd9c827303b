package inside

import (
	"context"
	"maps"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/slipway-sh/slipway/internal/cause"
)

// reason is the annotation in which the approver of serving certificates (addons/kubeletcerts)
// says why it does not approve one.
const reason = "slipway.sh/reason"

// requests are those of kubelets for serving certificates. Of each node the newest counts: a
// kubelet asks anew if it gets no answer.
func (a *asked) requests(ctx context.Context) error {
	o := page()
	o.FieldSelector = "spec.signerName=" + certificatesv1.KubeletServingSignerName
	list, err := a.client.CertificatesV1().CertificateSigningRequests().List(ctx, o)
	if err != nil {
		return err
	}
	newest := map[string]certificatesv1.CertificateSigningRequest{}
	for _, csr := range list.Items {
		node, kubelet := strings.CutPrefix(csr.Spec.Username, "system:node:")
		if before, known := newest[node]; kubelet && (!known || before.CreationTimestamp.Before(&csr.CreationTimestamp)) {
			newest[node] = csr
		}
	}
	for _, node := range slices.Sorted(maps.Keys(newest)) {
		csr := newest[node]
		if len(csr.Status.Certificate) > 0 {
			continue
		}
		one := cause.CertificateRequest{Name: csr.Name, Node: node, Created: csr.CreationTimestamp.Time, Words: cause.Text(csr.Annotations[reason])}
		for _, c := range csr.Status.Conditions {
			one.Decision, one.Words = string(c.Type), cause.Text(c.Message)
		}
		a.Uncertified = append(a.Uncertified, one)
	}
	return cut(list.Continue)
}
