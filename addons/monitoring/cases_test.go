package monitoring

// oneCase makes an alert fire and end. The series have a sample a minute, in promtool's
// notation: "0+60x3" begins at 0 and grows by 60 three times.
type oneCase struct {
	alert, severity string
	series          map[string]string
	// fires and quiet are minutes at which it does and does not fire.
	fires, quiet []int
	// labels are some that the alert must have, as a selector.
	labels string
}

func cases() []oneCase {
	const deployment = `{namespace="capo-system", deployment="capo-controller-manager"}`
	const second = `{namespace="capi-addon-system", deployment="cluster-api-addon-provider"}`
	const console = `{namespace="slipway-console", deployment="slipway-console"}`
	const expiry = `kube_customresource_capi_machine_certificate_expiry_timestamp{namespace="default", name="m"}`
	const login = `{of="environment", name="credential"}`
	const disk = `{node="a", mountpoint="/"}`
	const volume = `{namespace="n", persistentvolumeclaim="v"}`
	return []oneCase{
		{alert: "Watchdog", severity: "none", fires: []int{1, 60}, series: map[string]string{"any": "0x60"}},
		{alert: "TargetDown", severity: "warning", labels: `job="etcd", pod="a"`, fires: []int{40}, quiet: []int{5, 20, 60}, series: map[string]string{
			`up{job="etcd", namespace="kube-system", pod="a"}`: "1x9 0x39 1x30", `up{job="etcd", namespace="kube-system", pod="b"}`: "1x80"}},
		{alert: "AlertsUndelivered", severity: "critical", labels: `integration="slack"`, fires: []int{20}, quiet: []int{9, 60}, series: map[string]string{
			`alertmanager_notifications_failed_total{integration="slack", reason="other"}`: "0x9 1+1x9 10x60"}},
		// Loki does not answer, so the queue fills; on another node lines are refused.
		{alert: "LogsUndelivered", severity: "warning", labels: `node="a"`, fires: []int{40}, quiet: []int{5, 20, 60}, series: map[string]string{
			`otelcol_exporter_queue_size{data_type="logs", node="a"}`: "3x9 90x39 2x30", `otelcol_exporter_queue_capacity{data_type="logs", node="a"}`: "100x90"}},
		{alert: "LogsUndelivered", severity: "warning", labels: `node="b"`, fires: []int{35}, quiet: []int{5, 20, 80}, series: map[string]string{
			`otelcol_exporter_send_failed_log_records{node="b"}`: "0x9 1+1x39 40x60"}},
		{alert: "NodeNotReady", severity: "warning", labels: `node="a"`, fires: []int{40}, quiet: []int{5, 20, 60}, series: map[string]string{
			`kube_node_status_condition{node="a", condition="Ready", status="true"}`: "1x9 0x39 1x30"}},
		{alert: "NodeDiskFull", severity: "warning", labels: `node="a"`, fires: []int{40}, quiet: []int{5, 20, 60}, series: map[string]string{
			"node_filesystem_avail_bytes" + disk: "50x9 9x39 50x30", "node_filesystem_size_bytes" + disk: "100x90"}},
		{alert: "NodeClockSkew", severity: "warning", labels: `node="a"`, fires: []int{60}, quiet: []int{5, 35, 90}, series: map[string]string{
			`node_timex_offset_seconds{node="a"}`: "0.001x9 -0.2x59 0.001x30", `node_timex_sync_status{node="a"}`: "1x100"}},
		{alert: "NodeClockSkew", severity: "warning", labels: `node="a"`, fires: []int{60}, quiet: []int{5, 35, 90}, series: map[string]string{
			`node_timex_offset_seconds{node="a"}`: "0x100", `node_timex_sync_status{node="a"}`: "1x9 0x59 1x30"}},
		{alert: "VolumeFull", severity: "warning", labels: `persistentvolumeclaim="v"`, fires: []int{40}, quiet: []int{5, 20, 60}, series: map[string]string{
			"kubelet_volume_stats_available_bytes" + volume: "50x9 9x39 50x30", "kubelet_volume_stats_capacity_bytes" + volume: "100x90"}},
		{alert: "EtcdNoLeader", severity: "critical", fires: []int{12, 20}, quiet: []int{5, 60}, series: map[string]string{
			`etcd_server_has_leader{pod="a"}`: "1x80", `etcd_server_has_leader{pod="b"}`: "1x9 0x39 1x30"}},
		{alert: "EtcdNearlyFull", severity: "critical", fires: []int{40}, quiet: []int{5, 20, 60}, series: map[string]string{
			"etcd_mvcc_db_total_size_in_bytes": "50x9 90x39 50x30", "etcd_server_quota_backend_bytes": "100x90"}},
		// After an hour it has 30 days, after two of another one 20; then each is replaced.
		{alert: "CAPIMachineCertificateExpiringSoon", severity: "warning", labels: `name="m"`, fires: []int{65, 115}, quiet: []int{5, 55, 130}, series: map[string]string{
			expiry: "2595600x120 99999999x60"}},
		{alert: "CAPIMachineCertificateExpiringSoon", severity: "warning", labels: `name="m"`, fires: []int{5, 55}, quiet: []int{65, 115}, series: map[string]string{
			expiry: "1731600x120"}},
		{alert: "CAPIMachineCertificateReplacementOverdue", severity: "critical", labels: `name="m"`, fires: []int{125, 175}, quiet: []int{5, 55, 115, 190}, series: map[string]string{
			expiry: "1731600x180 99999999x60"}},
		// Hourly; the first was made at 0, the next only after 240 minutes.
		{alert: "SlipwayBackupMissing", severity: "critical", fires: []int{150, 239}, quiet: []int{60, 119, 130, 245}, series: map[string]string{
			"slipway_backup_interval_seconds": "3600x300", "slipway_backup_last_success_timestamp_seconds": "0x239 14400x60"}},
		{alert: "SlipwayBackupFailing", severity: "warning", fires: []int{70}, quiet: []int{50, 200}, series: map[string]string{
			"slipway_backup_failures_total": "0x60 1+1x5 6x200"}},
		// Another replica becomes the leader, and tells what it read.
		{alert: "SlipwayBackupFailing", severity: "warning", quiet: []int{50, 70, 120}, series: map[string]string{
			`slipway_backup_failures_total{pod="a"}`: "6x60", `slipway_backup_failures_total{pod="b"}`: "_x60 6x100"}},
		{alert: "SlipwayBackupUnproved", severity: "warning", fires: []int{30}, quiet: []int{5, 20, 60}, series: map[string]string{
			"slipway_backup_drill_overdue": "0x9 1x39 0x30"}},
		{alert: "SlipwayDrillFailed", severity: "critical", fires: []int{20}, quiet: []int{5, 12, 60}, series: map[string]string{
			"slipway_backup_drill_failed": "0x9 1x39 0x30"}},
		{alert: "SlipwayClusterCause", severity: "warning", labels: `reason="no-valid-host"`, fires: []int{30}, quiet: []int{5, 20, 60}, series: map[string]string{
			`slipway_cluster_cause{reason="no-valid-host"}`: "0x9 2x39 0x30", `slipway_cluster_cause{reason="quota"}`: "0x80"}},
		{alert: "SlipwayClusterCause", severity: "warning", labels: `reason="quota-exceeded"`, fires: []int{30}, quiet: []int{5, 20, 60}, series: map[string]string{
			`slipway_clusters_with_cause{reason="quota-exceeded"}`: "0x9 1x39 0x30"}},
		// It looks every minute, but not from 10 to 40.
		{alert: "SlipwayClustersUnwatched", severity: "warning", fires: []int{25, 39}, quiet: []int{9, 15, 45}, series: map[string]string{
			"slipway_cluster_cause_looked_timestamp_seconds": "0+60x10 600x28 2400+60x30"}},
		{alert: "SlipwayLeftovers", severity: "warning", labels: `reason="VolumeInUse"`, fires: []int{140}, quiet: []int{5, 100, 200}, series: map[string]string{
			`capi_janitor_waiting_clusters{reason="VolumeInUse"}`: "0x9 1x159 0x60"}},
		{alert: "SlipwayOrphans", severity: "warning", fires: []int{140}, quiet: []int{5, 100, 200}, series: map[string]string{
			"slipway_orphaned_clusters": "0x9 1x159 0x60"}},
		// After an hour it has 14 days, and is renewed an hour later; the other one has no series then.
		{alert: "SlipwayCredentialEndsSoon", severity: "warning", labels: `of="environment", name="credential"`, fires: []int{80, 119}, quiet: []int{5, 60, 70, 125}, series: map[string]string{
			"slipway_credential_expiry_timestamp_seconds" + login: "1213200x120 99999999x60"}},
		{alert: "SlipwayCredentialEnds", severity: "critical", labels: `of="cluster", name="prod/shop"`, fires: []int{80, 119}, quiet: []int{5, 60, 70, 130}, series: map[string]string{
			`slipway_credential_expiry_timestamp_seconds{of="cluster", name="prod/shop"}`: "262800x120 _x60"}},
		// With less than three days it is critical, and no longer a warning.
		{alert: "SlipwayCredentialEndsSoon", severity: "warning", fires: []int{30}, quiet: []int{70, 119}, series: map[string]string{
			"slipway_credential_expiry_timestamp_seconds" + login: "262800x120"}},
		// It ended before anybody looked.
		{alert: "SlipwayCredentialEnds", severity: "critical", fires: []int{80}, quiet: []int{70, 125}, series: map[string]string{
			"slipway_credential_expiry_timestamp_seconds" + login: "_x60 3600x60 99999999x60"}},
		{alert: "SlipwayQuotaNearlyUsed", severity: "warning", labels: `resource="cores"`, fires: []int{50}, quiet: []int{5, 35, 90}, series: map[string]string{
			`slipway_quota_used{resource="cores"}`: "17x9 18x59 17x30", `slipway_quota_limit{resource="cores"}`: "20x100",
			`slipway_quota_used{resource="ports"}`: "89x100", `slipway_quota_limit{resource="ports"}`: "100x100",
			`slipway_quota_used{resource="ram"}`: "99x100", `slipway_quota_limit{resource="routers"}`: "0x100", `slipway_quota_used{resource="routers"}`: "0x100"}},
		// A larger quota ends it, too.
		{alert: "SlipwayQuotaNearlyUsed", severity: "warning", fires: []int{50}, quiet: []int{5, 35, 90}, series: map[string]string{
			`slipway_quota_used{resource="cores"}`: "10x9 20x100", `slipway_quota_limit{resource="cores"}`: "20x68 40x60"}},
		{alert: "SlipwayImageRetired", severity: "warning", labels: `image="i", state="deactivated"`, fires: []int{40}, quiet: []int{5, 20, 60}, series: map[string]string{
			`slipway_retired_image_users{image="i", state="deactivated", of="cluster"}`: "_x9 2x39 _x30", `slipway_retired_image_users{image="i", state="deactivated", of="template"}`: "_x9 1x39 _x30"}},
		// Cinder is looked at every five minutes, but not from 10 to 120.
		{alert: "SlipwayUpkeepUnwatched", severity: "warning", labels: `what="block-storage"`, fires: []int{95, 119}, quiet: []int{5, 60, 80, 130}, series: map[string]string{
			`slipway_upkeep_looked_timestamp_seconds{what="block-storage"}`: "0+60x10 600x109 7200+60x30", `slipway_upkeep_looked_timestamp_seconds{what="compute"}`: "0+60x150"}},
		{alert: "SlipwayFenceClosed", severity: "critical", fires: []int{20}, quiet: []int{5, 12, 60}, series: map[string]string{
			`slipway_fence_open{pod="a"}`: "1x80", `slipway_fence_open{pod="b"}`: "1x9 0x39 1x30"}},
		// Renewal is due at 60 minutes and made two days later.
		{alert: "CertManagerRenewalOverdue", severity: "critical", labels: `name="serving", exported_namespace="capi-system"`, fires: []int{1600, 2800}, quiet: []int{30, 1400, 1510, 2900}, series: map[string]string{
			`certmanager_certificate_renewal_timestamp_seconds{name="serving", exported_namespace="capi-system"}`: "3600x2820 9999999x200"}},
		{alert: "SlipwayControllerDown", severity: "critical", labels: `namespace="capo-system"`, fires: []int{30}, quiet: []int{5, 15, 60}, series: map[string]string{
			"kube_deployment_status_replicas_available" + deployment: "1x9 0x39 1x30", "kube_deployment_spec_replicas" + deployment: "1x80"}},
		{alert: "SlipwayControllerDown", severity: "critical", labels: `namespace="slipway-console"`, fires: []int{30}, quiet: []int{5, 15, 60}, series: map[string]string{
			"kube_deployment_status_replicas_available" + console: "2x9 0x39 2x30", "kube_deployment_spec_replicas" + console: "2x80"}},
		// Who scaled it to none wants it so.
		{alert: "SlipwayControllerDown", severity: "critical", quiet: []int{30, 60}, series: map[string]string{
			"kube_deployment_status_replicas_available" + deployment: "0x80", "kube_deployment_spec_replicas" + deployment: "0x80"}},
		{alert: "SlipwayControllerBehind", severity: "warning", labels: `name="machine"`, fires: []int{50}, quiet: []int{5, 25, 90}, series: map[string]string{
			`workqueue_depth{namespace="capi-system", pod="a", name="machine"}`: "0x9 500x59 0x30"}},
		// A queue with priorities tells of each, and is behind with all of them.
		{alert: "SlipwayControllerBehind", severity: "warning", labels: `name="magnum"`, fires: []int{50}, quiet: []int{5, 25, 90}, series: map[string]string{
			`workqueue_depth{namespace="slipway-system", pod="a", name="magnum", priority="0"}`:  "0x9 60x59 0x30",
			`workqueue_depth{namespace="slipway-system", pod="a", name="magnum", priority="-1"}`: "0x9 60x59 0x30"}},
		{alert: "SlipwayControllerBehind", severity: "warning", labels: `name="cluster"`, fires: []int{50}, quiet: []int{5, 70}, series: map[string]string{
			`workqueue_longest_running_processor_seconds{namespace="capi-system", pod="a", name="cluster"}`: "0x9 60+60x49 0x30"}},
		{alert: "EtcdQuorumAtRisk", severity: "critical", fires: []int{40}, quiet: []int{5, 20, 70}, series: controlPlane(3, "1x9 0x49 1x30")},
		{alert: "EtcdQuorumAtRisk", severity: "critical", quiet: []int{5, 40}, series: controlPlane(5, "1x9 0x49 1x30")},
		{alert: "EtcdQuorumAtRisk", severity: "critical", quiet: []int{5, 40}, series: controlPlane(1, "1x9 0x49 1x30")},
		{alert: "ControllerHasOneReplica", severity: "warning", fires: []int{50}, quiet: []int{5, 35, 80}, series: map[string]string{
			"kube_deployment_status_replicas_available" + second: "2x9 1x59 2x30", "kube_deployment_spec_replicas" + second: "2x100"}},
		{alert: "ControllerHasOneReplica", severity: "warning", labels: `namespace="slipway-console"`, fires: []int{50}, quiet: []int{5, 35, 80}, series: map[string]string{
			"kube_deployment_status_replicas_available" + console: "2x9 1x59 2x30", "kube_deployment_spec_replicas" + console: "2x100"}},
	}
}

// controlPlane has so many nodes, of which the first is ready as told, and a worker that is not.
func controlPlane(nodes int, first string) map[string]string {
	series := map[string]string{`kube_node_status_condition{node="worker", condition="Ready", status="true"}`: "0x90"}
	for i := range nodes {
		node := string(rune('a' + i))
		series[`kube_node_role{node="`+node+`", role="control-plane"}`] = "1x90"
		ready := "1x90"
		if i == 0 {
			ready = first
		}
		series[`kube_node_status_condition{node="`+node+`", condition="Ready", status="true"}`] = ready
	}
	return series
}
