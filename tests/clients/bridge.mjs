// bridge.mjs FROM TO: connections to FROM are carried on to TO; each is a path of a unix socket or a port of
// 127.0.0.1. Two of them lead from a network that has nothing but itself to one server outside.
import net from 'node:net'
import process from 'node:process'

const [from, to] = process.argv.slice(2).map((a) => (/^\d+$/.test(a) ? { host: '127.0.0.1', port: Number(a) } : { path: a }))
const server = net.createServer((near) => {
	const far = net.connect(to)
	const end = () => (near.destroy(), far.destroy())
	near.on('error', end).on('close', end).pipe(far)
	far.on('error', end).on('close', end).pipe(near)
})
server.listen(from)
