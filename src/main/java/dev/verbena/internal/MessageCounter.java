package dev.verbena.internal;

/**
 * What the package {@code dev.verbena.messages} counts over a device. {@code CounterMeaning}
 * describes them, by their names in lower case.
 */
public enum MessageCounter {
  CONNECTIONS_OPENED,
  CONNECTIONS_CLOSED,
  CONNECTION_MESSAGES,
  CONNECTION_REQUESTS,
  CONNECTION_REQUESTS_FAILED,
  CLIENTS_CONNECTED,
  CLIENTS_DISCONNECTED,
  CLIENT_REQUESTS,
  CLIENT_ANSWERS,
  CLIENT_WAITS,
  CLIENT_TIMEOUTS,
  SERVED_CLIENTS_CONNECTED,
  SERVED_CLIENTS_DISCONNECTED,
  SERVED_CLIENTS_REFUSED,
  SERVER_REQUESTS,
  SERVER_ANSWERS,
  SERVER_EXPIRED
}
