package consoletest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-sh/slipway/internal/console"
)

// Large is an environment with a thousand clusters, of which many have causes, and as much of
// everything else as they bring. What has no bound of its own is larger than a page shows.
func Large() World {
	w := Whole()
	w.Clusters = Clusters(1000)
	for i := 700; i < 710; i++ {
		w.Clusters[i].Ready, w.Clusters[i].Phase, w.Clusters[i].Cause = false, "Provisioned", strings.Repeat("No valid host was found. ", 20)
	}
	ill := w.Clusters[700]
	rows := slices.Repeat(objects(ill), 500)
	w.Environment.Groups[2].Rows = rows
	findings := slices.Repeat([]console.Finding{noHost(ill)}, 1000)
	unseen := make([]console.Unseen, 1000)
	for i := range unseen {
		unseen[i] = console.Unseen{What: fmt.Sprintf("API server of magnum-%08d/k8s-%d", i, i), Why: "no answer within 10s"}
	}
	w.Causes = console.Causes{Findings: findings, Unseen: unseen}
	w.Describe[ill.Namespace+"/"+ill.Name] = console.Description{Cluster: ill, Rows: rows, Findings: findings, Unseen: unseen}
	w.Backups.List = slices.Repeat(w.Backups.List, 500)
	w.Certificates.List, w.Certificates.Unseen = slices.Repeat(w.Certificates.List, 1500), unseen
	w.Plan.Replaced = append(w.Plan.Replaced, slices.Repeat(w.Plan.Replaced[1:2], 50)...)
	w.Capacity.Checks = slices.Repeat(w.Capacity.Checks, 30)
	w.Runs = slices.Repeat(w.Runs[1:], 25)
	return w
}
