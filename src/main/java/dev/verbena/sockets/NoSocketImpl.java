package dev.verbena.sockets;

import java.io.FileDescriptor;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketImpl;

/**
 * The {@link java.net.SocketImpl} that the constructors of sockets require. The sockets of channels
 * override all methods that would use it.
 */
final class NoSocketImpl extends SocketImpl {
  private static UnsupportedOperationException unused() {
    return new UnsupportedOperationException("a method of Socket that channels do not implement");
  }

  @Override
  protected void create(boolean stream) {
    throw unused();
  }

  @Override
  protected void connect(String host, int port) {
    throw unused();
  }

  @Override
  protected void connect(InetAddress address, int port) {
    throw unused();
  }

  @Override
  protected void connect(SocketAddress address, int timeout) {
    throw unused();
  }

  @Override
  protected void bind(InetAddress host, int port) {
    throw unused();
  }

  @Override
  protected void listen(int backlog) {
    throw unused();
  }

  @Override
  protected void accept(SocketImpl s) {
    throw unused();
  }

  @Override
  protected InputStream getInputStream() {
    throw unused();
  }

  @Override
  protected OutputStream getOutputStream() {
    throw unused();
  }

  @Override
  protected int available() {
    throw unused();
  }

  @Override
  protected void close() {}

  @Override
  protected FileDescriptor getFileDescriptor() {
    throw unused();
  }

  @Override
  protected void sendUrgentData(int data) throws SocketException {
    throw new SocketException("RDMA sockets have no urgent data");
  }

  @Override
  public void setOption(int option, Object value) {
    throw unused();
  }

  @Override
  public Object getOption(int option) {
    throw unused();
  }
}
