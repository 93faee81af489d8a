/* Built from page/ by `npm run build`: do not edit. */
"use strict";(()=>{var k=["A","B","C"],B="layoutprobe.kernel/1";function j(t){let e=atob(t),n=new Uint8Array(e.length);for(let r=0;r<e.length;r++)n[r]=e.charCodeAt(r);return n}function H(t){let e=j(t),n=new DataView(e.buffer),r=new Float32Array(e.length/4);for(let o=0;o<r.length;o++)r[o]=n.getFloat32(4*o,!0);return r}function V(t,e){let n=j(t);return Uint8Array.from({length:e},(r,o)=>(n[o>>3]??0)>>(o&7)&1)}function s(t,e={},...n){return he(document.createElement(t),e,n)}function he(t,e,n){for(let[r,o]of Object.entries(e))o===void 0||o===!1||(typeof o=="function"?t.addEventListener(r.slice(2),o):t.setAttribute(r,o===!0?"":String(o)));return t.append(...n.filter(r=>!!r)),t}function A(t,e,n,r=""){return s("button",{type:"button","aria-pressed":String(e),title:r||void 0,onclick:n},t)}function S(t,e,n){let r=s("div",{class:"scroll"}),o=s("details",{class:"behind"},s("summary",{},t),r);return o.addEventListener("toggle",()=>{if(!o.open||r.childElementCount)return;let a=s("tr",{},...e.map(i=>s("th",{scope:"col"},i))),l=[...n()].map(([i,...d])=>s("tr",{},s("th",{scope:"row"},i??""),...d.map(u=>s("td",{},u))));r.append(s("table",{},s("thead",{},a),s("tbody",{},...l)))}),o}function G(t){let{findings:e}=t.model.data;return s("div",{class:"findings"},...e.map((n,r)=>{let{file:o,line:a}=n.place,l=we(t,n),i=k.find(u=>u===n.place.matrix),d=n.lines.flatMap(([u,c])=>[s("dt",{},u),s("dd",{},s("code",{},c))]);return s("div",{class:"card finding"},s("span",{class:"place"},o===void 0?"":`${o}:${a}`),s("h3",{},`Finding ${r+1} of ${e.length}: ${n.rule}`),s("p",{},n.what),s("p",{class:"go"},l&&s("button",{type:"button",onclick:()=>t.goto(l,{slot:null,...i&&{matrix:i}})},"show its slots"),o!==void 0&&a!==void 0&&s("button",{type:"button",onclick:()=>t.set({line:{file:o,line:a}})},"show its line")),s("details",{class:"behind"},s("summary",{},"in full"),s("dl",{},...d)))}))}function we(t,e){let n=k.find(u=>u===e.place.matrix),r=new Set([e.place,...e.related.map(({place:u})=>u)].map(({pc:u})=>u)),o=[...t.model.every].flat().filter(u=>(n===void 0?u.wrong:u.operands[n]?.anyWrong)??!1),a=o.filter(u=>r.has(t.model.site(u.site)?.place.pc)),{wave:l,workgroup:i}=e.place,d=t.model.groupNumber(i);return a.find(u=>u.wave===l&&u.group===d)??a[0]??o[0]}var z=class{constructor(e,n){this.moments=e;this.at=n}moments;at;value(e){return this.moments.rows[e][this.at]??0}layout(e){let n=this.moments.layouts[this.value(e)];if(n===void 0)throw new Error(`layout ${this.value(e)} is missing`);return n}get matrix(){return k[this.value("matrix")]??"A"}get site(){return this.value("site")}get iteration(){return this.value("iteration")}get group(){return this.value("group")}get wave(){return this.value("wave")}get product(){return this.value("product")}get axes(){return this.layout("held").axes}get bits(){return this.layout("held").bits}get slots(){return this.layout("held").row.length}element(e,n){let r=this.layout(e),o=r.row[n]??-1;if(o<0)return null;let a=[this.value(`${e}_row`),this.value(`${e}_col`)];return{row:a[0]+o,col:a[1]+(r.col[n]??0)}}held(e){return this.element("held",e)}needed(e){return this.element("needed",e)}wrong(e){return this.moments.masks[this.value("wrong")]?.charAt(e)==="1"}live(e){return this.moments.masks[this.value("live")]?.charAt(e)==="1"}get anyWrong(){return this.moments.masks[this.value("wrong")]?.includes("1")??!1}get countWrong(){return[...this.moments.masks[this.value("wrong")]??""].filter(e=>e==="1").length}slot(e){let[,n,r]=this.axes,o=Math.floor(e/r);return{matrix:this.matrix,lane:Math.floor(o/n),vgpr:o%n,field:e%r}}flat(e){let[,n,r]=this.axes;return(e.lane*n+e.vgpr)*r+e.field}},C=(t,e)=>`${t}/${e}`,O=class{constructor(e){this.data=e;let{rows:n,groups:r}=e.moments,o=new Map;for(let a=0;a<n.group.length;a++){let l=`${n.group[a]}/${n.wave[a]}/${n.turn[a]}`,i=new z(e.moments,a),d=o.get(l)??{operands:{},turn:n.turn[a]};d.operands[i.matrix]=i,o.set(l,d)}for(let{operands:a,turn:l}of o.values()){let i=a.A??a.B??a.C;if(i===void 0)continue;let{group:d,wave:u,site:c,iteration:m}=i,b=k.some(g=>a[g]?.anyWrong),h={group:d,wave:u,site:c,iteration:m,turn:l,operands:a,wrong:b},w=this.byWave.get(C(d,u));w===void 0?this.byWave.set(C(d,u),[h]):w.push(h)}for(let a of this.byWave.values())a.sort((l,i)=>l.turn-i.turn);this.waves=r.map((a,l)=>[...this.byWave.values()].flatMap(d=>d[0]?.group===l?[d[0].wave]:[]).sort((d,u)=>d-u));for(let{site:a,matrix:l,kind:i,first:d,count:u}of e.moments.registers)this.registers.set(`${a}/${l}`,{kind:i,first:d,count:u})}data;byWave=new Map;registers=new Map;waves;steps(e,n){return this.byWave.get(C(e,n))??[]}get every(){return this.byWave.values()}site(e){return this.data.sites[e]}register(e,n,r,o){let a=this.registers.get(`${e}/${n}`),l=a?.kind==="AccVGPR"?"a":"v",i=(a?.first??0)+r*Math.max(1,o/32);return o>32?`${l}[${i}:${i+1}]`:`${l}${i}`}groupName(e){return`(${(this.data.moments.groups[e]??[]).join(", ")})`}groupNumber(e){return this.data.moments.groups.findIndex(n=>e?.every((r,o)=>r===n[o])??!1)}makers(e,n){let r=new Map;for(let o of this.byWave.values())for(let a of o){let l=a.operands.C;if(l===void 0||l.product!==n)continue;let i=ye(l,e);if(i<0)continue;let d=l.slot(i),u=`${C(a.group,a.wave)}/${a.site}/${i}`,c=r.get(u)??{steps:[],slot:d,belongs:l.needed(i)};c.steps.push(a),r.set(u,c)}return[...r.values()]}contributions(e,n){let r=e.belongs??n;return e.steps.flatMap(o=>{let{A:a,B:l}=o.operands;if(a===void 0||l===void 0)return[];let i=new Map(U(l,d=>d.col===r.col).map(([d,u])=>[u.row,d]));return U(a,d=>d.row===r.row).flatMap(([d,u])=>{let c=i.get(u.col);return c===void 0?[]:{step:o,k:u.col,a:a.slot(d),b:l.slot(c),heldA:a.held(d),heldB:l.held(c),right:!a.wrong(d)&&!l.wrong(c)}})})}};function ye(t,e){for(let n=0;n<t.slots;n++){let r=t.held(n);if(r?.row===e.row&&r.col===e.col)return n}return-1}function U(t,e){let n=new Map;for(let r=0;r<t.slots;r++){let o=t.needed(r);if(o===null||!t.live(r)||!e(o))continue;let a=t.matrix==="A"?o.col:o.row;n.has(a)||n.set(a,[r,o])}return[...n.values()].sort((r,o)=>r[0]-o[0])}function P(t,e,n){return e===1?"":e===2?t===0?"lo":"hi":`${(t+1)*n-1}:${t*n}`}function v(t,e){return e===null?"no element":`${t}[${e.row}][${e.col}]`}var ve=[["both","held beside needed"],["held","held"],["needed","needed"]];function q(t){let e=s("div",{class:"choices",role:"group","aria-label":"matrix"}),n=s("div",{class:"choices",role:"group","aria-label":"what is shown"}),r=s("div",{class:"scroll fragment"}),o=s("h2",{}),a=s("p",{class:"says","aria-live":"polite"}),l=s("p",{class:"legend"});return t.watch(()=>{let{state:i}=t;e.replaceChildren(...k.map(u=>{let c=A(u,u===i.matrix,()=>t.set({matrix:u,slot:null}));return c.classList.toggle("bad",t.step?.operands[u]?.anyWrong??!1),c})),n.replaceChildren(...ve.map(([u,c])=>A(c,u===i.shown,()=>t.set({shown:u}))));let d=t.step?.operands[i.matrix];if(o.textContent=`Operand ${i.matrix}`,d===void 0){r.replaceChildren(s("p",{},t.model.site(t.step?.site??-1)?.lost||"not followed"));return}o.textContent+=` in ${xe(t,d)}`,Se(t,d,r),a.replaceChildren(...Le(t,d,i.slot)),l.replaceChildren(...Te(d,i.matrix))}),s("section",{class:"operand panel","aria-label":"operand"},s("header",{},o,e,n),a,r,l)}function xe(t,e){let n=e.axes[1]-1,r=o=>t.model.register(e.site,e.matrix,o,e.bits);return n>0?`${r(0)} to ${r(n)}`:r(0)}function ke(t){let e=new Set;for(let n=0;n<t.slots;n++)for(let r of[t.held(n),t.needed(n)])r!==null&&e.add(X(t.matrix,r));return new Map([...e].sort((n,r)=>n-r).map((n,r)=>[n,r]))}var X=(t,e)=>t==="B"?e.col:e.row;function Se(t,e,n){let{state:r}=t,[o,a,l]=e.axes,i=ke(e),d=r.slot?.matrix===e.matrix?e.flat(r.slot):-1,u=d<0?null:e.held(d),c=s("table",{role:"grid","aria-label":`operand ${e.matrix}, lanes by registers`,onkeydown:h=>Ee(t,e,h),onclick:h=>{let w=h.target.closest("td");w?.dataset.slot!==void 0&&t.set({slot:e.slot(Number(w.dataset.slot))})}});c.append(Me(t,e));let m=s("tbody");for(let h=0;h<o;h++){let w=s("tr",{},s("th",{scope:"row"},String(h)));for(let g=0;g<a*l;g++){let f=h*a*l+g,p=$e(e,f,r.shown,i);p.tabIndex=f===Math.max(d,0)?0:-1,l>1&&g%l===0&&p.classList.add("first");let y=e.held(f);u!==null&&y?.row===u.row&&y.col===u.col&&p.classList.add("same"),f===d&&p.classList.add("chosen"),p.setAttribute("aria-selected",String(f===d)),w.append(p)}m.append(w)}c.append(m);let b=n.contains(document.activeElement);n.replaceChildren(c),b&&c.querySelector("td[tabindex='0']")?.focus({preventScroll:!1})}function Me(t,e){let[,n,r]=e.axes,o=Array.from({length:n},(i,d)=>s("th",{scope:"colgroup",colspan:r},t.model.register(e.site,e.matrix,d,e.bits))),a=s("tr",{},s("th",{scope:"col",rowspan:r>1?2:1},"lane"),...o);if(r===1)return s("thead",{},a);let l=o.flatMap(()=>Array.from({length:r},(i,d)=>s("th",{scope:"col"},P(d,r,e.bits))));return s("thead",{},a,s("tr",{},...l))}function $e(t,e,n,r){let o=t.held(e),a=t.needed(e),l=t.wrong(e),i=n==="needed"?a:o,d=s("td",{"data-slot":e},Y(i));if(i!==null){let c=r.get(X(t.matrix,i))??0;d.style.setProperty("--hue",`${c/Math.max(r.size,1)}turn`),d.classList.add(c%2===0?"even":"odd")}l&&n!=="needed"&&(d.classList.add("wrong"),n==="both"&&d.append(s("small",{},Y(a)))),t.live(e)||d.classList.add("dead");let u=[`lane ${t.slot(e).lane}`,v(t.matrix,o)];return l&&u.push(`wrong, needs ${v(t.matrix,a)}`),t.live(e)||u.push("no output reads it"),d.title=u.join(", "),d.setAttribute("aria-label",u.slice(1).join(", ")),d}var Y=t=>t===null?"\xB7":`${t.row},${t.col}`;function Ee(t,e,n){let[r,o,a]=e.axes,l=o*a,i={ArrowLeft:-1,ArrowRight:1,ArrowUp:-l,ArrowDown:l}[n.key],d=n.target.closest("td");if(i===void 0||d?.dataset.slot===void 0)return;n.preventDefault();let u=Number(d.dataset.slot)+i;u>=0&&u<r*l&&t.set({slot:e.slot(u)})}function Le(t,e,n){if(n===null||n.matrix!==e.matrix)return[e.anyWrong?s("span",{class:"bad-text"},`\u2717 ${e.countWrong} of ${e.slots} slots are wrong`):s("span",{class:"good-text"},"\u2713 every slot holds what is needed"),". Choose a slot to see where else its element is."];let r=e.flat(n),{matrix:o}=e,a=P(n.field,e.axes[2],e.bits),l=t.model.register(e.site,o,n.vgpr,e.bits)+(a&&`.${a}`),i=e.held(r),d=o==="C"?"is stored to":"holds",u=[s("b",{},`lane ${n.lane}, ${l}`),` ${d} `];u.push(s("code",{},v(o,i))),e.wrong(r)&&u.push(", needs ",s("code",{class:"good-text"},v(o,e.needed(r)))),e.live(r)||u.push(" (no output reads it)");let c=Ae(e,r);c.length>0&&u.push(`; also in ${c.join(", ")}`);let m=o==="C"?e.needed(r)??i:null;if(m!==null){let b=()=>t.set({element:{...m,product:e.product}});u.push(" ",s("button",{type:"button",onclick:b},"its sum over k"))}return u}function Ae(t,e){let n=t.held(e);if(n===null)return[];let r=[];for(let o=0;o<t.slots&&r.length<8;o++){let a=t.held(o);o!==e&&a?.row===n.row&&a.col===n.col&&r.push(`lane ${t.slot(o).lane}`)}return r}function Te(t,e){let r=[`One colour for each ${{A:"row of A",B:"column of B",C:"row of C"}[e]}; 3,5 is ${e}[3][5]. `];return t.anyWrong&&r.push(s("span",{class:"key wrong"},"3,5")," wrong, and below what is needed. "),r.push(s("span",{class:"key dead"},"3,5")," a copy that no output reads."),r}function Z(t){let{model:e}=t,n=s("select",{id:"group",onchange:()=>{let m=Number(n.value);t.set({group:m,wave:e.waves[m]?.[0]??0,slot:null})}});n.append(...e.data.moments.groups.map((m,b)=>s("option",{value:b},e.groupName(b))));let r=s("div",{class:"choices",role:"group","aria-label":"wave"}),o=s("input",{type:"range",id:"step",min:0,step:1,oninput:()=>t.set({step:Number(o.value),slot:null})}),a=m=>()=>t.set({step:t.state.step+m,slot:null}),l=s("button",{type:"button",onclick:a(-1),"aria-label":"one step back"},"\u25C0"),i=s("button",{type:"button",onclick:a(1),"aria-label":"one step on"},"\u25B6"),d=s("button",{type:"button",id:"next-wrong",onclick:()=>F(t)},"next wrong"),u=s("p",{class:"says","aria-live":"polite"});t.watch(()=>{let{group:m,wave:b,step:h}=t.state;n.value=String(m),r.replaceChildren(...(e.waves[m]??[]).map(g=>{let f=e.steps(m,g).some(L=>L.wrong),p=()=>t.set({wave:g,slot:null}),y=A(String(g),g===b,p,f?`wave ${g}: wrong operands`:`wave ${g}`);return y.classList.toggle("bad",f),y})),o.max=String(Math.max(t.steps.length-1,0)),o.value=String(h),l.disabled=h===0,i.disabled=h>=t.steps.length-1;let w=t.step;o.setAttribute("aria-valuetext",w?Ce(t,w):"nothing was executed"),u.replaceChildren(...w?Oe(t,w):["no matrix instruction was executed"]),d.disabled=t.nextWrong()===void 0});let c=e.data.moments.leftOut;return s("section",{class:"moment","aria-label":"moment"},s("label",{for:"group"},"workgroup"),n,c>0&&s("small",{},`${c} more are left out: --workgroup X,Y,Z`),s("span",{class:"label"},"wave"),r,s("div",{class:"slide"},l,s("label",{for:"step",class:"hidden"},"step"),o,i,d),u)}function F(t){let e=t.nextWrong(),n=["A","B","C"].find(r=>e?.operands[r]?.anyWrong);e!==void 0&&t.goto(e,{slot:null,...n&&{matrix:n}})}function Ce(t,e){let n=t.model.site(e.site);return`matrix instruction ${e.site}, ${n?.title??""}, execution ${e.iteration}`}function Oe(t,e){let n=t.model.site(e.site),o=Object.entries(e.operands).filter(([,a])=>a.anyWrong).map(([a,l])=>`${a}: ${l.countWrong} of ${l.slots} slots`);return[s("b",{},`step ${t.state.step+1} of ${t.steps.length}`),` matrix instruction ${e.site}, `,s("code",{},n?.title??""),`, execution ${e.iteration} `,o.length>0?s("span",{class:"bad-text"},`\u2717 wrong: ${o.join("; ")}`):s("span",{class:"good-text"},"\u2713 operands are right")]}var Q=[[",","one step back",t=>t.set({step:t.state.step-1,slot:null})],[".","one step on",t=>t.set({step:t.state.step+1,slot:null})],["n","next wrong operand",F],["[","wave before",t=>J(t,-1)],["]","next wave",t=>J(t,1)],["a","operand A",t=>t.set({matrix:"A",slot:null})],["b","operand B",t=>t.set({matrix:"B",slot:null})],["c","operand C",t=>t.set({matrix:"C",slot:null})]];function J(t,e){let n=t.model.waves[t.state.group]??[],r=n[n.indexOf(t.state.wave)+e];r!==void 0&&t.set({wave:r,slot:null})}function ee(t){document.addEventListener("keydown",e=>{let n=e.target;if(e.ctrlKey||e.metaKey||e.altKey||n.matches("input:not([type=range]), select, textarea"))return;let r=Q.find(([o])=>o===e.key);r!==void 0&&(e.preventDefault(),r[2](t))})}function te(){let t=Q.flatMap(([n,r])=>[s("dt",{},s("kbd",{},n)),s("dd",{},r)]),e=[s("dt",{},s("kbd",{},"arrows")),s("dd",{},"slots of an operand, elements of the map")];return s("details",{class:"behind"},s("summary",{},"Keys"),s("dl",{},...t,...e))}var R=class{constructor(e,n){this.data=e;this.group=n;this.events=e.row.flatMap((r,o)=>{let a=e.code[e.inst[o]??-1];return a===void 0?[]:[{row:r,wave:e.wave[o]??0,code:a}]});for(let r of this.events){this.byRow.set(r.row,r);let o=this.byWave.get(r.wave);o===void 0?this.byWave.set(r.wave,[r]):o.push(r)}this.waves=[...this.byWave.keys()].sort((r,o)=>r-o)}data;group;events;waves;byWave=new Map;byRow=new Map;shows(e){return e===this.group}of(e){return this.byWave.get(e)??[]}at(e){return this.byRow.get(e)}matrices(e){return this.of(e).filter(({code:n})=>n.kind==="matrix")}rowOf(e,n){return this.matrices(e)[n]?.row??null}turnAt(e,n){return Math.max(this.matrices(e).filter(r=>r.row<=n).length-1,0)}nearest(e,n){return this.of(e).reduce((r,o)=>r&&Math.abs(r.row-n)<=Math.abs(o.row-n)?r:o,void 0)}races(e){return e.flatMap(n=>{if(!n.rule.startsWith("races/"))return[];let[r,...o]=[n.place,...n.related.map(({place:a})=>a)];for(let a of o){let l=r===void 0?null:this.race(n.what,r,a);if(l!==null)return[l]}return[]})}race(e,n,r){let o=i=>i.workgroup?.every((d,u)=>d===this.data.group[u])??!0;if(n.wave===void 0||r.wave===void 0||n.wave===r.wave||!o(n)||!o(r))return null;let a=this.of(n.wave).filter(({code:i})=>i.place.pc===n.pc),l=this.of(r.wave).filter(({code:i})=>i.place.pc===r.pc);for(let i of a)for(let d of l){let[u,c]=[this.interval(i),this.interval(d)];if(u.number!==c.number)continue;let[m,b]=i.row<d.row?[i,d]:[d,i];return{what:e,first:m,second:b,from:Math.min(u.from,c.from),to:Math.max(u.to,c.to)}}return null}interval(e){let n=this.of(e.wave).filter(({code:a})=>a.kind==="barrier"),r=n.filter(({row:a})=>a<e.row),o=n[r.length];return{number:r.length,from:r.at(-1)?.row??0,to:o?.row??this.data.rows}}},M=-1;function ne(t,e){let n=new Int32Array(t.size/4).fill(M);for(let r=0;r<t.row.length&&!((t.row[r]??0)>=e);r++)if(t.store[r])for(let o of N(t,r))n[o]=r;return n}function N(t,e){let n=[];for(let r of t.patterns[t.pattern[e]??-1]??[])if(r>=0){let o=r+(t.bytes[e]??4)-1;for(let a=r>>2;a<=o>>2;a++)n.push(a)}return n}function re(t,e){let n=new Map;for(let a of new Set(N(t,e)))n.set(a%t.banks,(n.get(a%t.banks)??0)+1);let[r,o]=[...n].sort((a,l)=>l[1]-a[1])[0]??[0,0];return{bank:r,dwords:o}}var Re=400;function oe(t){let{timeline:e}=t,n=e?.data.lds??null,r=s("section",{class:"lds panel","aria-label":"LDS"},s("h2",{},"LDS"));if(e===null||n===null)return r.append(s("p",{},"No access of LDS was recorded.")),r;let o=Math.ceil(n.size/4/n.banks),[a,l]=[Math.floor(640/n.banks),Math.max(2,Math.min(8,Math.floor(560/o)))],i=s("canvas",{width:n.banks*a,height:o*l,tabindex:0,role:"img","aria-label":`LDS, ${o} rows of ${n.banks} banks; arrow keys choose a dword`}),d=s("p",{class:"says","aria-live":"polite"}),u=s("p",{class:"says"}),c=s("p",{class:"legend"}),m=Ne(e,n),b=0,h=new Int32Array,w=f=>{b=Math.max(0,Math.min(f,n.size/4-1)),g()},g=()=>{let f=t.row;if(r.hidden=f===null,f===null)return;h=ne(n,f);let p=We(e,n,t.state.wave,f);Ve(i,{lds:n,writers:h,colours:m,timeline:e,wide:a,tall:l,chosen:b,access:p}),d.replaceChildren(...De(e,n,h,b)),u.replaceChildren(...Be(e,n,p))};i.addEventListener("click",f=>{let p=i.getBoundingClientRect(),y=Math.floor((f.clientX-p.left)/p.width*n.banks);w(Math.floor((f.clientY-p.top)/p.height*o)*n.banks+y)}),i.addEventListener("keydown",f=>{let p={ArrowLeft:-1,ArrowRight:1,ArrowUp:-n.banks,ArrowDown:n.banks}[f.key];p!==void 0&&(f.preventDefault(),w(b+p))});for(let[f,p]of m)c.append(s("span",{class:"swatch tint",style:`--hue: ${p}turn`}),` ${f} `);return c.append(s("span",{class:"swatch never"})," nothing was stored "),c.append(s("span",{class:"swatch access"})," the wave's latest access"),t.watch(g),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",g),r.append(u,d,s("div",{class:"scroll"},i),c,S("what lies where, as a table",["bytes","wave","stored by"],()=>He(e,n,h))),r}function Ne(t,e){let n=new Set;for(let r=0;r<e.row.length;r++)e.store[r]&&n.add(t.at(e.row[r]??-1)?.code.title??"");return new Map([...n].map((r,o)=>[r,o/n.size]))}function We(t,e,n,r){let o=-1;for(let a=0;a<e.row.length&&(e.row[a]??0)<=r;a++)t.at(e.row[a]??-1)?.wave===n&&(o=a);return o}function De(t,e,n,r){let o=s("b",{},`byte ${4*r}, bank ${r%e.banks}: `),a=n[r]??M,l=t.at(e.row[a]??-1);if(a===M||l===void 0)return[o,"nothing was stored there until now"];let d=(e.patterns[e.pattern[a]??-1]??[]).findIndex(u=>u>=0&&u>>2<=r&&r<=u+(e.bytes[a]??4)-1>>2);return[o,`stored by wave ${l.wave}, lane ${d}, with `,s("code",{},l.code.title),`, row ${l.row}`]}function Be(t,e,n){let r=t.at(e.row[n]??-1);if(n<0||r===void 0)return["The wave has not accessed LDS yet."];let{bank:o,dwords:a}=re(e,n),l=a>1?`its lanes want up to ${a} dwords of one bank (${o})`:"its lanes want no two dwords of one bank";return[`${e.store[n]?"Store":"Load"} at hand: `,s("code",{},r.code.title),`; ${l}.`]}function*He(t,e,n){let r=l=>{let i=t.at(e.row[n[l]??M]??-1);return i===void 0?"":`${i.wave}
${i.code.title}`},[o,a]=[0,0];for(let l=1;l<=n.length&&a<Re;l++){if(l<n.length&&r(l)===r(o))continue;let[i="",d="nothing"]=r(o).split(`
`);yield[`${4*o} to ${4*l-1}`,i,d],a++,o=l}}function Ve(t,e){let n=t.getContext("2d");if(n===null)return;let{lds:r,writers:o,colours:a,timeline:l,wide:i,tall:d}=e,u=getComputedStyle(t),c=f=>u.getPropertyValue(`--${f}`).trim(),m=f=>[f%r.banks*i,Math.floor(f/r.banks)*d,i-1,d-1];n.clearRect(0,0,t.width,t.height);for(let f=0;f<o.length;f++){let p=l.at(r.row[o[f]??M]??-1),y=p===void 0?void 0:a.get(p.code.title),L=c(p&&p.wave%2?"tint-odd":"tint-even");n.fillStyle=y===void 0?c("off-bg"):`hsl(${y*360} ${c("tint-strong")} ${L})`,n.fillRect(...m(f))}n.fillStyle=c("copy");for(let f of new Set(e.access<0?[]:N(r,e.access)))n.fillRect(...m(f));n.strokeStyle=c("ink"),n.lineWidth=2;let[b,h,w,g]=m(e.chosen);n.strokeRect(b-1,h-1,w+2,g+2)}function ae(t){let[e,n]=t.axes,r=V(t.wrong,e*n);return{rows:e,cols:n,rowsEach:t.rows,observed:H(t.observed),expected:H(t.expected),wrong:r,undefined:V(t.undefined,e*n),count:r.reduce((o,a)=>o+a,0)}}function se(t){let e=t.expected.reduce((n,r)=>Number.isFinite(r)?Math.max(n,Math.abs(r)):n,0);return t.wrong.length===0?new Float32Array:Float32Array.from(t.wrong,(n,r)=>{if(n===0)return 0;let a=Math.abs((t.observed[r]??0)-(t.expected[r]??0))/(e||1),l=Number.isFinite(a)?Math.log10(Math.max(a,1e-4)):0;return .3+.7*Math.max(0,Math.min(1,1+l/4))})}function T(t,e){for(let n=1;n<=t.wrong.length;n++){let r=(e+n)%t.wrong.length;if(t.wrong[r])return r}return-1}function $(t){return t===void 0?"":String(Number(t.toPrecision(7)))}function le(t,e,n){let r=s("div",{class:"element","aria-live":"polite"}),o;return t.watch(()=>{let{element:a}=t.state;if(a===o&&r.childElementCount)return;if(o=a,a===null){r.replaceChildren(s("p",{class:"hint"},"No element is chosen."));return}let l=(a.product*n.rowsEach+a.row)*n.cols+a.col,i=n.undefined[l]?"undefined bits":$(n.observed[l]),d=!!n.wrong[l],u=t.model.makers(a,a.product),c=n.rows>n.rowsEach?`, product ${a.product}`:"";r.replaceChildren(s("h3",{},v(e,a)+c),s("p",{},"holds ",s("code",{class:d?"bad-text":"good-text"},i),d&&", should be ",d&&s("code",{class:"good-text"},$(n.expected[l]))),...u.length>0?u.flatMap(m=>Pe(t,m,a)):[s("p",{},ze(t))])}),r}function ze(t){return t.model.data.moments.leftOut>0?"No accumulator of the workgroups in this page is stored there: --workgroup X,Y,Z shows another one.":"No accumulator is stored there."}function Pe(t,e,n){let{slot:r,steps:o,belongs:a}=e,l=o[0];if(l===void 0)return[];let i=t.model.register(l.site,"C",r.vgpr,l.operands.C?.bits??32),d=`workgroup ${t.model.groupName(l.group)}, wave ${l.wave}, lane ${r.lane}, ${i}`,c=s("p",{},"made by ",s("button",{type:"button",class:"link",onclick:()=>t.goto(l,{matrix:"C",slot:r})},d));a!==null&&(a.row!==n.row||a.col!==n.col)&&c.append(s("span",{class:"bad-text"},` \u2717 which is ${v("C",a)}, stored to the wrong place`));let m=t.model.contributions(e,n),b=t.model.data.moments.shapes.A[1],h=m.filter(({right:p})=>!p).length,w=b-new Set(m.map(({k:p})=>p)).size,g=[`${m.length} products over k`,h>0?`${h} of wrong elements`:"all of the right elements",w>0?`${w} k are missing`:""],f=a??n;return[c,s("p",{class:h+w>0?"bad-text":"good-text"},g.filter(Boolean).join(", ")),Fe(t,m,f),S("its products as a table",["k","A","B","step",""],()=>m.map(p=>[String(p.k),v("A",p.heldA),v("B",p.heldB),`instruction ${p.step.site}, execution ${p.step.iteration}`,p.right?"right":`wrong: needs A[${f.row}][${p.k}] and B[${p.k}][${f.col}]`]))]}function Fe(t,e,n){let r=e.map(o=>{let l=[["A",o.heldA,{row:n.row,col:o.k}],["B",o.heldB,{row:o.k,col:n.col}]].find(([,c,m])=>c?.row!==m.row||c.col!==m.col)?.[0],i=`k ${o.k}: ${v("A",o.heldA)} * ${v("B",o.heldB)}`,d=o.right||l===void 0?"A":l,u=d==="A"?o.a:o.b;return s("button",{type:"button",class:o.right?"right":"wrong",title:i,"aria-label":`${i}${o.right?"":", wrong"}`,onclick:()=>t.goto(o.step,{matrix:d,slot:u})},String(o.k))});return s("div",{class:"strip",role:"group","aria-label":"products over k"},...r)}var Ie=560,I=400;function ie(t){let{output:e,noOutput:n}=t.model.data,r=s("h2",{},`Output ${e?.name??""}`),o=s("section",{class:"output panel","aria-label":"output"},s("header",{},r));if(e===null)return o.append(s("p",{},`Values are not shown: ${n}`)),o;let a=ae(e),l=Ke(t,e.name,a),i=T(a,-1);i>=0&&t.set({element:de(a,i)});let d=`${a.count} of ${a.rows*a.cols} elements are wrong`;return o.append(s("p",{class:"says"},a.count>0?s("span",{class:"bad-text"},`\u2717 ${d}`):s("span",{class:"good-text"},"\u2713 every element is right")," on small integers. Choose one to see what it was made of."),s("div",{class:"beside"},l,le(t,e.name,a)),S(`wrong elements as a table${a.count>I?`, the first ${I}`:""}`,["element","held","expected"],function*(){for(let u=T(a,-1),c=0;u>=0&&c<Math.min(a.count,I);c++){let m=`${e.name}[${Math.floor(u/a.cols)}][${u%a.cols}]`,b=a.undefined[u]?"undefined":$(a.observed[u]);yield[m,b,$(a.expected[u])],u=T(a,u)}})),o}function de(t,e){let n=Math.floor(e/t.cols);return{row:n%t.rowsEach,col:e%t.cols,product:Math.floor(n/t.rowsEach)}}function Ke(t,e,n){let{rows:r,cols:o}=n,a=Math.max(1,Math.floor(Ie/Math.max(r,o))),l=s("canvas",{width:o*a,height:r*a,tabindex:0,role:"img","aria-label":`map of ${e}: ${n.count} wrong elements; arrow keys choose one`}),i=(g,f)=>{let[p,y]=[Math.max(0,Math.min(g,r-1)),Math.max(0,Math.min(f,o-1))];t.set({element:de(n,p*o+y)})},d=()=>{let g=t.state.element;return g===null?[0,0]:[g.product*n.rowsEach+g.row,g.col]};l.addEventListener("click",g=>{let f=l.getBoundingClientRect();i(Math.floor((g.clientY-f.top)/f.height*r),Math.floor((g.clientX-f.left)/f.width*o))}),l.addEventListener("keydown",g=>{let f={ArrowLeft:[0,-1],ArrowRight:[0,1],ArrowUp:[-1,0],ArrowDown:[1,0]}[g.key];f!==void 0&&(g.preventDefault(),i(d()[0]+(f[0]??0),d()[1]+(f[1]??0)))});let u=(g,f)=>s("input",{type:"number",min:0,max:f,value:0,"aria-label":g}),c=u(`row of ${e}`,r-1),m=u(`column of ${e}`,o-1);for(let g of[c,m])g.addEventListener("change",()=>i(Number(c.value),Number(m.value)));let b=s("button",{type:"button",disabled:n.count===0,onclick:()=>{let g=t.state.element===null?-1:d()[0]*o+d()[1],f=T(n,g);i(Math.floor(f/o),f%o)}},"next wrong element"),h=se(n),w=()=>{_e(l,n,h,a,t.state.element===null?null:d()),t.state.element!==null&&([c.value,m.value]=d().map(String))};return t.watch(w),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",w),s("div",{class:"map"},l,s("div",{class:"choose"},s("span",{},e),"[",c,"][",m,"]",b),s("p",{class:"legend"},s("span",{class:"swatch right"})," right ",s("span",{class:"swatch hot"})," off, the redder the further ",s("span",{class:"swatch unsure"})," undefined"))}function _e(t,e,n,r,o){let a=t.getContext("2d");if(a===null)return;let l=getComputedStyle(t),i=b=>l.getPropertyValue(`--${b}`).trim();a.fillStyle=i("good-bg"),a.fillRect(0,0,t.width,t.height);let[d,u]=[i("bad"),i("unsure")];for(let b=0;b<n.length;b++)e.wrong[b]&&(a.globalAlpha=e.undefined[b]?1:n[b]??0,a.fillStyle=e.undefined[b]?u:d,a.fillRect(b%e.cols*r,Math.floor(b/e.cols)*r,r,r));if(a.globalAlpha=1,o===null)return;let[c,m]=o.map(b=>b*r);a.strokeStyle=i("ink"),a.lineWidth=2,a.strokeRect(m-2,c-2,r+4,r+4)}var ue=`.layoutprobe h2 {
  margin: 0;
}
.layoutprobe button,
.layoutprobe select,
.layoutprobe input[type="number"] {
  font: inherit;
  font-size: 0.87rem;
  color: var(--ink);
  background: var(--paper);
  border: 1px solid var(--line);
  border-radius: 6px;
  padding: 0.15rem 0.55rem;
  min-height: 1.9rem;
  cursor: pointer;
}
.layoutprobe button:hover:not(:disabled),
.layoutprobe select:hover {
  background: var(--shade);
}
.layoutprobe button:disabled {
  color: var(--off);
  cursor: default;
}
.layoutprobe button[aria-pressed="true"] {
  background: var(--ink);
  border-color: var(--ink);
  color: var(--paper);
}
.layoutprobe button.bad::after {
  content: "";
  display: inline-block;
  width: 0.45em;
  height: 0.45em;
  margin-left: 0.35em;
  border-radius: 50%;
  background: var(--bad);
  vertical-align: middle;
}
.layoutprobe :focus-visible {
  outline: 2px solid var(--copy);
  outline-offset: 1px;
}
.layoutprobe button.link {
  border: 0;
  padding: 0;
  min-height: 0;
  color: var(--copy);
  background: none;
  text-decoration: underline;
  text-align: left;
  font-size: inherit;
}
.layoutprobe .bad-text {
  color: var(--bad);
  font-weight: 600;
}
.layoutprobe .good-text {
  color: var(--good);
}
.layoutprobe .hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}
.layoutprobe .choices {
  display: inline-flex;
  flex-wrap: wrap;
}
.layoutprobe .choices button {
  border-radius: 0;
  margin-left: -1px;
}
.layoutprobe .choices button:first-child {
  border-radius: 6px 0 0 6px;
  margin-left: 0;
}
.layoutprobe .choices button:last-child {
  border-radius: 0 6px 6px 0;
}
.layoutprobe .choices button:only-child {
  border-radius: 6px;
}

.layoutprobe .findings {
  margin: 0 0 1rem;
}
.layoutprobe .findings .card {
  margin: 0 0 0.75rem;
  padding-bottom: 0.6rem;
}
.layoutprobe .findings .go {
  display: flex;
  gap: 0.5rem;
  flex-wrap: wrap;
}

.layoutprobe .moment {
  position: sticky;
  top: 0;
  z-index: 3;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.45rem 0.7rem;
  margin: 0 0 1rem;
  padding: 0.6rem 0.9rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--shade);
}
.layoutprobe .moment label,
.layoutprobe .moment .label {
  color: var(--soft);
  font-size: 0.87rem;
}
.layoutprobe .slide {
  display: flex;
  gap: 0.45rem;
  flex: 1 1 22rem;
  align-items: center;
}
.layoutprobe .slide input {
  flex: 1;
  min-width: 6rem;
  accent-color: var(--copy);
}
.layoutprobe .says {
  margin: 0;
  flex-basis: 100%;
  font-size: 0.9rem;
  overflow-wrap: anywhere;
  min-height: 1.5em;
}

.layoutprobe .columns {
  display: grid;
  grid-template-columns: minmax(0, 11fr) minmax(0, 9fr);
  gap: 1rem;
  align-items: start;
}
.layoutprobe .panel {
  scroll-margin-top: 6rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  padding: 0.8rem 0.9rem;
  margin: 0 0 1rem;
  min-width: 0;
}
.layoutprobe .panel > header {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem 0.7rem;
  align-items: center;
  margin-bottom: 0.5rem;
}
.layoutprobe .panel > header h2 {
  flex: 1 1 auto;
}
.layoutprobe .panel .scroll {
  margin: 0;
}
.layoutprobe .legend {
  margin: 0.6rem 0 0;
  color: var(--soft);
  font-size: 0.83rem;
  line-height: 1.9;
}

.layoutprobe .fragment table {
  width: 100%;
  border-collapse: separate;
  border-spacing: 2px;
  table-layout: fixed;
  min-width: 44rem;
  font-variant-numeric: tabular-nums;
}
.layoutprobe .fragment th {
  border: 0;
  padding: 0 0.15rem;
  font-size: 0.75rem;
  font-weight: 500;
  color: var(--soft);
  background: none;
  text-align: center;
}
.layoutprobe .fragment thead tr:first-child th {
  color: var(--ink);
  font-weight: 600;
}
.layoutprobe .fragment th:first-child {
  width: 2.2rem;
  min-width: 0;
  text-align: right;
}
.layoutprobe .fragment td {
  border: 0;
  border-radius: 3px;
  padding: 0;
  height: 1.35rem;
  font-size: 0.7rem;
  line-height: 1.15;
  white-space: nowrap;
  cursor: pointer;
}
.layoutprobe .fragment td.even {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}
.layoutprobe .fragment td.odd {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-odd));
}
.layoutprobe .fragment td.wrong,
.layoutprobe .key.wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  box-shadow: inset 0 0 0 1.5px var(--bad);
  color: var(--wrong);
  font-weight: 700;
  padding: 0.1rem 0;
}
.layoutprobe .fragment td.wrong small {
  display: block;
  color: var(--right);
  font-weight: 600;
  font-size: 1em;
}
.layoutprobe .fragment td.dead,
.layoutprobe .key.dead {
  background-image: repeating-linear-gradient(
    135deg,
    transparent 0 3px,
    color-mix(in srgb, var(--ink) 16%, transparent) 3px 4px
  );
  color: var(--soft);
}
.layoutprobe .fragment td.same {
  outline: 2px solid var(--copy);
  outline-offset: -1px;
}
.layoutprobe .fragment td.chosen {
  outline: 3px solid var(--ink);
  outline-offset: -1px;
}
.layoutprobe .key {
  display: inline-block;
  border-radius: 3px;
  padding: 0 0.4rem;
  line-height: 1.35;
}

.layoutprobe .source .code {
  max-height: 48rem;
  overflow: auto;
  border: 1px solid var(--line);
  border-radius: 6px;
  position: relative;
}
.layoutprobe .line {
  display: grid;
  grid-template-columns: 2.8rem 1.5rem minmax(0, 1fr);
  align-items: start;
}
.layoutprobe .long .line {
  content-visibility: auto;
  contain-intrinsic-height: auto 1.35rem;
}
.layoutprobe .line .number {
  color: var(--off);
  font-size: 0.75rem;
  text-align: right;
  padding-right: 0.3rem;
  line-height: 1.35rem;
  user-select: none;
}
.layoutprobe .line code {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  line-height: 1.35rem;
  font-size: 0.8rem;
}
.layoutprobe .line .note {
  grid-column: 3;
  margin: 0 0.4rem 0.3rem 0;
  color: var(--bad);
  font-size: 0.8rem;
  overflow-wrap: anywhere;
}
.layoutprobe .line.related .note {
  color: var(--unsure);
}
.layoutprobe .line.finding {
  background: var(--bad-bg);
  box-shadow: inset 3px 0 var(--bad);
}
.layoutprobe .line.related {
  background: var(--unsure-bg);
  box-shadow: inset 3px 0 var(--unsure);
}
.layoutprobe .line.now {
  box-shadow: inset 3px 0 var(--copy);
}
.layoutprobe .line.now .number {
  color: var(--ink);
  font-weight: 700;
}
.layoutprobe .line .mark {
  text-align: center;
  line-height: 1.35rem;
}
.layoutprobe .line button.mark {
  border: 0;
  background: none;
  padding: 0;
  min-height: 0;
}
.layoutprobe .mark.finding {
  color: var(--bad);
  font-weight: 700;
}
.layoutprobe .mark.related {
  color: var(--unsure);
  font-weight: 700;
}
.layoutprobe .mark.site {
  color: var(--copy);
}

.layoutprobe .beside {
  display: grid;
  grid-template-columns: minmax(0, auto) minmax(18rem, 1fr);
  gap: 1.2rem;
  align-items: start;
  margin-top: 0.5rem;
}
.layoutprobe canvas {
  max-width: 100%;
  height: auto;
  display: block;
  border: 1px solid var(--line);
  border-radius: 4px;
  image-rendering: pixelated;
  cursor: crosshair;
}
.layoutprobe .choose {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.2rem;
  margin-top: 0.5rem;
  font-size: 0.9rem;
}
.layoutprobe .choose input {
  width: 5rem;
}
.layoutprobe .choose button {
  margin-left: 0.6rem;
}
.layoutprobe .swatch {
  display: inline-block;
  width: 0.9em;
  height: 0.9em;
  border-radius: 3px;
  vertical-align: -0.1em;
  border: 1px solid var(--line);
}
.layoutprobe .swatch.right {
  background: var(--good-bg);
}
.layoutprobe .swatch.hot {
  background: linear-gradient(90deg, color-mix(in srgb, var(--bad) 30%, transparent), var(--bad));
}
.layoutprobe .swatch.unsure {
  background: var(--unsure);
}
.layoutprobe .element h3 {
  margin-top: 0;
  font-family: ui-monospace, monospace;
}
.layoutprobe .element p {
  margin: 0.3rem 0;
  overflow-wrap: anywhere;
}
.layoutprobe .element .hint {
  color: var(--soft);
}
.layoutprobe .strip {
  display: flex;
  flex-wrap: wrap;
  gap: 2px;
  margin: 0.4rem 0;
  max-height: 15rem;
  overflow-y: auto;
}
.layoutprobe .strip button {
  min-height: 1.5rem;
  min-width: 1.9rem;
  padding: 0 0.2rem;
  font-size: 0.72rem;
  border: 0;
  border-radius: 3px;
}
.layoutprobe .strip .right {
  background: var(--good-bg);
  color: var(--right);
}
.layoutprobe .strip .wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  color: var(--wrong);
  font-weight: 700;
  box-shadow: inset 0 0 0 1.5px var(--bad);
}
.layoutprobe details.behind {
  border: 0;
  margin: 0.6rem 0 0;
}
.layoutprobe details.behind .scroll {
  max-height: 24rem;
  overflow: auto;
}
.layoutprobe kbd {
  font:
    0.85em ui-monospace,
    monospace;
  border: 1px solid var(--line);
  border-radius: 4px;
  padding: 0 0.35em;
}

@media (max-width: 1080px) {
  .layoutprobe .columns {
    grid-template-columns: minmax(0, 1fr);
  }
}
@media (max-width: 640px) {
  .layoutprobe .moment {
    position: static;
  }
  .layoutprobe .beside {
    grid-template-columns: minmax(0, 1fr);
  }
  .layoutprobe .source .code {
    max-height: 26rem;
  }
  .layoutprobe .fragment {
    max-height: 30rem;
    overflow: auto;
  }
  .layoutprobe .fragment th:first-child {
    position: sticky;
    left: 0;
    background: var(--paper);
    z-index: 1;
  }
}
@media (pointer: coarse) {
  .layoutprobe button,
  .layoutprobe select {
    min-height: 2.4rem;
  }
}

.layoutprobe .timeline canvas {
  max-width: none;
  image-rendering: auto;
  border: 0;
}
.layoutprobe .race {
  margin: 0.4rem 0 0;
  font-size: 0.9rem;
}
.layoutprobe .swatch.load,
.layoutprobe .swatch.access {
  background: var(--copy);
}
.layoutprobe .swatch.store {
  background: var(--unsure);
}
.layoutprobe .swatch.wait,
.layoutprobe .swatch.never {
  background: var(--off);
}
.layoutprobe .swatch.never {
  background: var(--off-bg);
}
.layoutprobe .swatch.barrier {
  background: var(--ink);
}
.layoutprobe .swatch.matrix {
  background: var(--good);
}
.layoutprobe .swatch.wrong {
  background: var(--bad);
}
.layoutprobe .swatch.tint {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}

.layoutprobe details.behind summary {
  background: none;
  padding: 0;
  color: var(--soft);
  font-size: 0.87rem;
  display: list-item;
  list-style: inside disclosure-closed;
}
.layoutprobe details.behind[open] summary {
  list-style-type: disclosure-open;
}
`;var Ge=3e3;function me(t){let{model:e}=t,{sources:n}=e.data,r=Ue(t),o=s("div",{class:"code",tabindex:0,role:"region","aria-label":"lines of the source"}),a=s("select",{"aria-label":"file",onchange:()=>t.set({line:{file:a.value,line:1}})});a.append(...n.map(({file:d})=>s("option",{value:d},d)));let l="",i="";return t.watch(()=>{let d=t.state.line??Xe(t)??Ze(t),u=d?.file??n[0]?.file??"";if(u!==l){l=u,a.value=u;let m=Ye(t,u,r);o.classList.toggle("long",m.length>Ge),o.replaceChildren(...m)}for(let m of o.querySelectorAll(".now"))m.classList.remove("now");for(let m of Je(t,u))o.querySelector(`[data-line="${m}"]`)?.classList.add("now");let c=`${u}:${d?.line}`;if(c!==i){i=c;let m=o.querySelector(`[data-line="${d?.line}"]`);m!==null&&(o.scrollTop=m.offsetTop-o.clientHeight/3)}}),n.length===0?s("section",{class:"source panel","aria-label":"source"},s("h2",{},"Source"),s("p",{},"The kernel came as a code object, or without debug information (-g): there is no source to show.")):s("section",{class:"source panel","aria-label":"source"},s("header",{},s("h2",{},"Source"),a),o,s("p",{class:"legend"},s("span",{class:"mark finding"},"\u2717")," a finding ",s("span",{class:"mark related"},"\u25CB")," on the way of the wrong value ",s("span",{class:"mark site"},"\u25C6")," a matrix instruction. Choose a marked line to go there."))}var ce=t=>`${t.file}:${t.line}`;function W(t){return t.near?[]:[t,...t.inlined_at??[]]}function Ue(t){let e=new Map,n=r=>{let o=e.get(ce(r))??{sites:[],findings:[],related:[]};return e.set(ce(r),o),o};for(let r of t.model.data.sites)for(let o of W(r.place))n(o).sites.push(r.number);for(let r of t.model.data.findings){let o=K(t,r.place);o!==null&&n(o).findings.push(r.what);for(let{title:a,place:l}of r.related){let i=K(t,l);i!==null&&n(i).related.push(a)}}return e}function Ye(t,e,n){return(t.model.data.sources.find(o=>o.file===e)?.lines??[]).map(([o,a])=>{let l=n.get(`${e}:${o}`),i=s("div",{class:"line","data-line":o},s("span",{class:"number"},String(o)),qe(t,l,e,o),s("code",{},a||" "));return l?.findings.length?(i.classList.add("finding"),i.append(...[...new Set(l.findings)].map(d=>s("p",{class:"note"},`\u2717 ${d}`)))):l?.related.length&&(i.classList.add("related"),i.append(s("p",{class:"note"},[...new Set(l.related)].join("; ")))),i})}function qe(t,e,n,r){if(e===void 0)return s("span",{class:"mark"});let[o,a]=e.findings.length?["\u2717","finding"]:e.related.length?["\u25CB","related"]:["\u25C6","site"],l=[...e.findings,...e.related,...e.sites.map(u=>`matrix instruction ${u}`)],i=()=>{let u=t.steps.find(c=>e.sites.includes(c.site));u===void 0?t.set({line:{file:n,line:r}}):t.goto(u,{line:{file:n,line:r},slot:null})},d={type:"button",class:`mark ${a}`,title:l.join(`
`),onclick:i};return s("button",{...d,"aria-label":`line ${r}: ${l.join("; ")}`},o)}function K(t,e){let n=new Set(t.model.data.sources.map(({file:r})=>r));for(let{file:r,line:o}of W(e))if(r!==void 0&&o!==void 0&&n.has(r))return{file:r,line:o};return null}function Xe(t){return t.model.data.findings.map(({place:n})=>K(t,n)).find(n=>n!==null)??null}function Ze(t){let e=t.model.site(t.step?.site??-1),n=new Set(t.model.data.sources.map(({file:a})=>a)),o=[...e===void 0?[]:W(e.place)].reverse().find(({file:a})=>a!==void 0&&n.has(a));return o?.file!==void 0&&o.line!==void 0?{file:o.file,line:o.line}:null}function Je(t,e){let n=t.model.site(t.step?.site??-1);return(n===void 0?[]:W(n.place)).flatMap(o=>o.file===e&&o.line!==void 0?[o.line]:[])}var D=class{constructor(e,n){this.model=e;this.now=n;let{timeline:r}=e.data;this.timeline=r&&new R(r,e.groupNumber(r.group))}model;now;views=[];waiting=!0;timeline;get state(){return this.now}get steps(){return this.model.steps(this.now.group,this.now.wave)}get step(){return this.steps[this.now.step]}watch(e){this.views.push(e)}start(){this.waiting=!1;for(let e of this.views)e()}set(e){let n={...this.now,...e},r=this.model.steps(n.group,n.wave);(e.step!==void 0||e.wave!==void 0||e.group!==void 0)&&(n.row=e.row??null),this.now={...n,step:Math.max(0,Math.min(n.step,r.length-1))},!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{this.waiting=!1;for(let o of this.views)o()}))}get row(){let{timeline:e}=this;return e===null||!e.shows(this.now.group)?null:this.now.row??e.rowOf(this.now.wave,this.step?.turn??0)}at(e){let n=this.model.steps(this.now.group,e.wave),r=this.timeline?.turnAt(e.wave,e.row)??0,o=n.findLastIndex(a=>a.turn<=r);this.set({wave:e.wave,step:Math.max(o,0),row:e.row,slot:null})}goto(e,n={}){let r=this.model.steps(e.group,e.wave).indexOf(e);this.set({group:e.group,wave:e.wave,step:Math.max(r,0),...n})}nextWrong(){let e=[...this.model.every].flat(),n=this.step===void 0?-1:e.indexOf(this.step);return[...e.slice(n+1),...e.slice(0,n+1)].find(o=>o.wrong)}};function pe(t){let{opened:e}=t.data,n=[...t.every].flat(),r=e.group===null?-1:t.groupNumber(e.group),o=c=>(r<0||c.group===r)&&(e.wave===null||c.wave===e.wave)&&(e.site===null||c.site===e.site)&&(e.iteration===null||c.iteration===e.iteration),a=n.filter(o),i=a.find(c=>e.matrix!==null&&c.operands[e.matrix]?.anyWrong)??a.find(c=>c.wrong)??a[0]??n[0],d=["A","B","C"].find(c=>i?.operands[c]?.anyWrong),u=i===void 0?0:t.steps(i.group,i.wave).indexOf(i);return{group:i?.group??0,wave:i?.wave??0,step:u,row:null,matrix:e.matrix??d??"A",shown:"both",slot:null,element:null,line:null}}var x=20,fe=14,E=34,Qe=16e3,et={barrier:"ink",wait:"off",load:"copy",store:"unsure",atomic:"unsure",matrix:"good",end:"line"},tt=["end","wait","load","store","atomic","matrix","barrier"];function be(t){let{timeline:e}=t,n=s("section",{class:"timeline panel","aria-label":"timeline"});if(e===null)return n.append(s("h2",{},"Timeline"),s("p",{},"The run is too long for a timeline: take a smaller size.")),n;let r=e.races(t.model.data.findings),o=s("canvas",{tabindex:0,role:"img","aria-label":`events of ${e.waves.length} waves; arrow keys move from event to event and between waves`}),a=1,l=()=>st(o,i,t,e,r,a),i=s("div",{class:"scroll"},o),d=s("p",{class:"says","aria-live":"polite"}),u=c=>()=>{a=Math.max(1,Math.min(a*c,64)),l();let m=Number(o.dataset.cursor??0);i.scrollLeft=m-i.clientWidth/2};return o.addEventListener("click",c=>{let m=o.getBoundingClientRect(),b=e.waves[Math.floor((c.clientY-m.top)/x)],h=o.clientWidth-E,w=(c.clientX-m.left-E)/h*e.data.rows,g=b===void 0?void 0:e.nearest(b,w);g!==void 0&&_(t,e,g)}),o.addEventListener("keydown",c=>nt(c,t,e)),t.watch(()=>{l(),d.replaceChildren(...rt(t,e))}),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",l),addEventListener("resize",l),n.append(s("header",{},s("h2",{},"Timeline"),s("button",{type:"button",onclick:u(2),"aria-label":"zoom in"},"+"),s("button",{type:"button",onclick:u(.5),"aria-label":"zoom out"},"\u2212")),d,i,...r.map(c=>ot(t,e,c)),at(e),S("events of the wave as a table",["row","kind","instruction","at"],()=>e.of(t.state.wave).map(({row:c,code:m})=>[String(c),m.kind,m.text,m.title]))),n}function _(t,e,n){let r=t.model.groupNumber(e.data.group);r!==t.state.group&&t.set({group:r,wave:n.wave}),t.at(n)}function nt(t,e,n){let{wave:r}=e.state,o=e.row??0,a=n.of(r),l=u=>{let c=n.waves[n.waves.indexOf(r)+u];return c===void 0?void 0:n.nearest(c,o)},d={ArrowLeft:()=>a.findLast(u=>u.row<o),ArrowRight:()=>a.find(u=>u.row>o),ArrowUp:()=>l(-1),ArrowDown:()=>l(1)}[t.key]?.();d!==void 0&&(t.preventDefault(),_(e,n,d))}function rt(t,e){let n=t.row;if(n===null)return[`Workgroup ${`(${e.data.group.join(", ")})`} was recorded; choose an event to go there.`];let r=e.at(n);return[s("b",{},`wave ${t.state.wave}, row ${n} of ${e.data.rows}: `),s("code",{},r?.code.text??""),r?.code.place.line===void 0?"":` at ${r.code.place.file}:${r.code.place.line}`,e.data.cut&&s("span",{class:"bad-text"},` The run ends early: ${e.data.cut}`)].filter(o=>o!=="")}function ot(t,e,n){let r=o=>s("button",{type:"button",class:"link",onclick:()=>_(t,e,o)},`${o.code.title} (wave ${o.wave})`);return s("p",{class:"race"},s("span",{class:"bad-text"},"\u2717 race: "),r(n.first)," and ",r(n.second),", with no barrier between them")}function at(t){let e=["load","store","wait","barrier","matrix"],n=new Set(t.events.map(({code:r})=>r.kind));return s("p",{class:"legend"},...e.filter(r=>n.has(r)).flatMap(r=>[s("span",{class:`swatch ${r}`}),` ${r} `]),s("span",{class:"swatch wrong"})," matrix instruction with a wrong operand. From left to right in the order in which the emulator executes: no cycles.")}function st(t,e,n,r,o,a){let l=t.getContext("2d"),i=Math.min(Qe,Math.max(Math.floor(e.clientWidth*a),200)),d=r.waves.length*x;if(l===null)return;(t.width!==i||t.height!==d)&&([t.width,t.height]=[i,d]),t.style.width=`${i}px`;let u=getComputedStyle(t),c=p=>u.getPropertyValue(`--${p}`).trim(),m=p=>E+p/r.data.rows*(i-E-4),b=p=>r.waves.indexOf(p)*x,h=n.model.groupNumber(r.data.group);l.clearRect(0,0,i,d),l.font="11px system-ui, sans-serif";for(let p of r.waves){let y=p===n.state.wave&&h===n.state.group;l.fillStyle=c(y?"off-bg":"shade"),l.fillRect(E,b(p)+1,i-E,x-2),l.fillStyle=c(y?"ink":"soft"),l.fillText(`w${p}`,6,b(p)+14)}let w=new Set(r.waves.flatMap(p=>n.model.steps(h,p).filter(y=>y.wrong).map(y=>r.rowOf(p,y.turn)))),g=Math.max(1.5,Math.min(8,i/r.data.rows*.8));for(let p of tt)for(let y of r.events){if(y.code.kind!==p)continue;l.fillStyle=c(w.has(y.row)?"bad":et[p]??"line");let[L,ge]=p==="barrier"?[0,x]:p==="wait"?[9,4]:[(x-fe)/2,fe];l.fillRect(m(y.row),b(y.wave)+L,p==="barrier"?2:g,ge)}for(let p of o)lt(l,p,m,b,c("bad"));let f=n.row;f!==null&&(t.dataset.cursor=String(Math.round(m(f))),l.fillStyle=c("copy"),l.fillRect(m(f)-1,0,2,d),l.strokeStyle=c("copy"),l.lineWidth=2,l.strokeRect(m(f)-4,b(n.state.wave)+1,9,x-2))}function lt(t,e,n,r,o){t.fillStyle=o,t.strokeStyle=o,t.lineWidth=2;let a=[e.first,e.second];t.globalAlpha=.22;for(let{wave:l}of a)t.fillRect(n(e.from),r(l),n(e.to)-n(e.from),x);t.globalAlpha=1,t.beginPath(),t.moveTo(n(e.first.row),r(e.first.wave)+x/2),t.lineTo(n(e.second.row),r(e.second.wave)+x/2),t.stroke();for(let{row:l,wave:i}of a)t.beginPath(),t.arc(n(l),r(i)+x/2,5,0,2*Math.PI),t.fill()}function it(){let t=document.getElementById("kernel"),e=document.getElementById("layoutprobe-data")?.textContent;if(t===null||!e)return;let n=JSON.parse(e);if(n.schema!==B){t.append(s("p",{},`This page's data is ${n.schema}, and its script reads ${B}.`));return}let r=new O(n),o=new D(r,pe(r));t.append(s("style",{},ue),G(o),Z(o),be(o),s("div",{class:"columns"},q(o),me(o)),ie(o),oe(o),te()),o.start(),ee(o)}it();})();
