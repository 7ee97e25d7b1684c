{{- define "rag-monitor.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "rag-monitor.fullname" .root }}-{{ .role }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "rag-monitor.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
spec:
  type: ClusterIP
  selector:
    {{- include "rag-monitor.selector" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
  ports:
    - name: http
      port: {{ .port }}
      targetPort: http
{{- end -}}
