{{/* The spec of the OpenStackCluster, JSON. */}}
{{- define "openstackcluster.spec" -}}
{{- $network := .Values.clusterNetworking -}}
{{- $internal := $network.internalNetwork | default dict -}}
{{- $api := .Values.apiServer -}}
{{- $spec := dict "identityRef" (dict "name" (include "cluster.credentialsName" .) "cloudName" "openstack") -}}
{{- with $network.externalNetworkId -}}
  {{- $_ := set $spec "externalNetwork" (dict "id" .) -}}
{{- end -}}
{{- if $network.disableExternalNetwork -}}
  {{- $_ := set $spec "disableExternalNetwork" true -}}
{{- end -}}
{{- $there := include "openstack.filter" $internal.networkFilter | mustFromJson -}}
{{- $subnet := include "openstack.filter" $internal.subnetFilter | mustFromJson -}}
{{- if or $there $subnet -}}
  {{- $_ := set $spec "network" $there -}}
  {{- if $subnet -}}{{- $_ := set $spec "subnets" (list $subnet) -}}{{- end -}}
{{- else -}}
  {{- $servers := $internal.dnsNameservers | default $network.dnsNameservers | default list -}}
  {{- $_ := set $spec "managedSubnets" (list (dict "cidr" (required "clusterNetworking.internalNetwork.nodeCidr is required where no network is given" $internal.nodeCidr) "dnsNameservers" $servers)) -}}
  {{- with $internal.mtu -}}{{- $_ := set $spec "networkMTU" (int .) -}}{{- end -}}
{{- end -}}
{{- with $network.router -}}
  {{- $_ := set $spec "router" (include "openstack.filter" . | mustFromJson) -}}
{{- end -}}
{{- if $network.manageSecurityGroups -}}
  {{- $_ := set $spec "managedSecurityGroups" (include "openstackcluster.securityGroups" . | mustFromJson) -}}
{{- end -}}
{{- include "openstackcluster.apiServer" (list . $spec) -}}
{{- with .Values.controlPlaneEndpoint -}}
  {{- $_ := set $spec "controlPlaneEndpoint" . -}}
{{- end -}}
{{- if .Values.controlPlane.omitFailureDomain -}}
  {{- $_ := set $spec "controlPlaneOmitAvailabilityZone" true -}}
{{- else -}}
  {{- $_ := set $spec "controlPlaneAvailabilityZones" (default list .Values.controlPlane.failureDomains) -}}
{{- end -}}
{{- with .Values.bastion -}}
  {{- $_ := set $spec "bastion" . -}}
{{- end -}}
{{- with .Values.tags -}}
  {{- $_ := set $spec "tags" . -}}
{{- end -}}
{{- $spec = deepCopy $spec -}}
{{- $groups := $spec.managedSecurityGroups -}}
{{- include "structure.prune" $spec -}}
{{- if kindIs "map" $groups -}}
  {{- $_ := set $spec "managedSecurityGroups" $groups -}}
{{- end -}}
{{- mustToJson $spec -}}
{{- end -}}

{{/* The rules on top of CAPO's own, JSON. */}}
{{- define "openstackcluster.securityGroups" -}}
{{- $network := .Values.clusterNetworking -}}
{{- $workers := $network.workerNodesSecurityGroupRules | default list -}}
{{- $services := get (include "cloudconfig.balancers" . | mustFromJson) "lb-provider" -}}
{{- if has "ovn" (list .Values.apiServer.loadBalancerProvider $services) -}}
  {{- /* OVN keeps the client's address, so the ports of Services must be open to clients. */ -}}
  {{- range $protocol := list "tcp" "udp" -}}
    {{- $workers = append $workers (dict "name" (printf "node-port-%s" $protocol) "description" "NodePorts, for load balancers of OVN"
          "direction" "ingress" "etherType" "IPv4" "protocol" $protocol "portRangeMin" 30000 "portRangeMax" 32767 "remoteIPPrefix" "0.0.0.0/0") -}}
  {{- end -}}
{{- end -}}
{{- $groups := dict "allowAllInClusterTraffic" $network.allowAllInClusterTraffic -}}
{{- if $workers -}}
  {{- $_ := set $groups "workerNodesSecurityGroupRules" $workers -}}
{{- end -}}
{{- with $network.controlPlaneNodesSecurityGroupRules -}}
  {{- $_ := set $groups "controlPlaneNodesSecurityGroupRules" . -}}
{{- end -}}
{{- with concat (include "openstackcluster.podRules" . | mustFromJson) ($network.allNodesSecurityGroupRules | default list) -}}
  {{- $_ := set $groups "allNodesSecurityGroupRules" . -}}
{{- end -}}
{{- mustToJson $groups -}}
{{- end -}}

{{/* What the pod network needs between nodes where not everything is open there, JSON. */}}
{{- define "openstackcluster.podRules" -}}
{{- $rules := list -}}
{{- $cni := .Values.addons.cni -}}
{{- if and .Values.addons.enabled $cni.enabled (not .Values.clusterNetworking.allowAllInClusterTraffic) -}}
  {{- $ports := dict
        "cilium" (list (list "vxlan" "udp" 8472) (list "health" "tcp" 4240) (list "hubble" "tcp" 4244))
        "flannel" (list (list "vxlan" "udp" 8472))
        "calico" (list (list "bgp" "tcp" 179) (list "ip-in-ip" "4" 0) (list "vxlan" "udp" 4789) (list "typha" "tcp" 5473)) -}}
  {{- range get $ports $cni.type | default list -}}
    {{- $rule := dict "name" (printf "%s-%s" $cni.type (first .)) "description" "The pod network" "direction" "ingress" "etherType" "IPv4"
          "protocol" (index . 1) "remoteManagedGroups" (list "controlplane" "worker") -}}
    {{- with last . -}}
      {{- $_ := set $rule "portRangeMin" . -}}
      {{- $_ := set $rule "portRangeMax" . -}}
    {{- end -}}
    {{- $rules = append $rules $rule -}}
  {{- end -}}
{{- end -}}
{{- mustToJson $rules -}}
{{- end -}}

{{/* [root, spec]: adds how the API server is reached. */}}
{{- define "openstackcluster.apiServer" -}}
{{- $api := (index . 0).Values.apiServer -}}
{{- $spec := index . 1 -}}
{{- if $api.enableLoadBalancer -}}
  {{- $balancer := dict "enabled" true "provider" $api.loadBalancerProvider -}}
  {{- /* The Magnum driver writes allowedCidrs, as charts before April 2026 did. */ -}}
  {{- /* "none" is SCS's word for inside only. */ -}}
  {{- $_ := set $balancer "allowedCIDRs" (without ($api.allowedCIDRs | default $api.allowedCidrs | default list) "none") -}}
  {{- range list "flavor" "availabilityZone" "additionalPorts" "monitor" -}}
    {{- $_ := set $balancer . (get (default dict $api.loadBalancer) .) -}}
  {{- end -}}
  {{- range $key, $value := $balancer -}}
    {{- if eq (toString $value) "" -}}{{- $_ := unset $balancer $key -}}{{- end -}}
  {{- end -}}
  {{- $_ := set $spec "apiServerLoadBalancer" $balancer -}}
{{- else -}}
  {{- $_ := set $spec "apiServerLoadBalancer" (dict "enabled" false) -}}
{{- end -}}
{{- $_ := set $spec "disableAPIServerFloatingIP" (or (not $api.associateFloatingIP) (has "none" ($api.allowedCIDRs | default $api.allowedCidrs | default list))) -}}
{{- $_ := set $spec "apiServerFloatingIP" $api.floatingIP -}}
{{- $_ := set $spec "apiServerFixedIP" $api.fixedIP -}}
{{- $_ := set $spec "apiServerPort" (int $api.port) -}}
{{- end -}}
