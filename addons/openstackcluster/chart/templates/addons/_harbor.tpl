{{- define "harbor.values" -}}
{{- $addons := .Values.addons }}
{{- $domain := required "addons.harbor.domainName is required: the host of Harbor's address" $addons.harbor.domainName }}
{{- $store := get (default dict $addons.objectStores) $addons.harbor.objectStore | default dict }}
{{- $secret := $store.secretName | default (printf "object-store-%s" $addons.harbor.objectStore) -}}
externalURL: https://{{ $domain }}
expose:
  type: ingress
  ingress:
    {{- if $addons.ingress.enabled }}
    className: {{ $addons.ingress.traefik.enabled | ternary "traefik" "nginx" }}
    {{- end }}
    hosts:
      core: {{ $domain }}
persistence:
  imageChartStorage:
    type: s3
    # Who pulls an image need not reach the object store.
    disableredirect: true
    {{- if $store.privateCA }}
    caBundleSecretName: {{ $secret }}
    {{- end }}
    s3:
      existingSecret: {{ $secret }}
      bucket: {{ $store.bucket | default "" | quote }}
      region: {{ $store.region | default "" | quote }}
      regionendpoint: {{ $store.endpoint | default "" | quote }}
      secure: {{ hasPrefix "https:" ($store.endpoint | default "https:") }}
      v4auth: true
{{- end }}
