"""What several folders of tests share: processes, brokers' clients, made-up records, fakes."""
