package try

import (
	"encoding/json"

	"github.com/google/uuid"
)

// userData is the machine's user data: it prints the size of the root, the units that
// failed and what a node of Kubernetes needs to every serial port, also one that the kernel does not print to;
// several times, because others print there too.
const userData = `#!/bin/sh
size=$(df -P -k / | awk 'NR == 2 { print $2 }')
failed=$(systemctl --failed --plain --no-legend 2>/dev/null | awk '{ printf "%s,", $1 }')
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/opt/bin
kubeadm=$(kubeadm version --output short 2>/dev/null)
kubelet=$(kubelet --version 2>/dev/null | awk '{ print $2 }')
runtime=$(containerd --version 2>/dev/null | awk '{ print "containerd/" $3 }')
if [ -z "$runtime" ] && command -v crio >/dev/null; then
	runtime=cri-o
fi
for _ in 1 2 3; do
	for port in /dev/ttyS0 /dev/ttyAMA0 /dev/hvc0; do
		if [ -c "$port" ]; then
			printf '\r\nslipway-report root_kib=%s failed=%s kubeadm=%s kubelet=%s runtime=%s end\r\n' "$size" "$failed" "$kubeadm" "$kubelet" "$runtime" >"$port" 2>/dev/null || :
		fi
	done
	sleep 1
done
`

// documents are what Nova puts on a configuration drive, by path.
func documents() (map[string][]byte, error) {
	meta, err := json.Marshal(map[string]any{"uuid": uuid.NewString(), "hostname": "slipway-try", "name": "slipway-try", "availability_zone": "nova"})
	if err != nil {
		return nil, err
	}
	network, err := json.Marshal(map[string]any{
		"links":    []any{map[string]any{"id": "link", "type": "phy", "ethernet_mac_address": mac, "mtu": 1500}},
		"networks": []any{map[string]any{"id": "network", "network_id": "network", "type": "ipv4_dhcp", "link": "link"}},
		"services": []any{},
	})
	if err != nil {
		return nil, err
	}
	const latest = "openstack/latest/"
	return map[string][]byte{latest + "meta_data.json": meta, latest + "network_data.json": network, latest + "user_data": []byte(userData)}, nil
}
